import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/**
 * The connections of a server. Node closes those that wait between two requests; one that has never sent any, or has not finished
 * its handshake, would keep the process alive for as long as its other end likes.
 */
export class Connections {
  readonly #all = new Set<Socket>();
  readonly #silent = new Map<string, Socket>();

  constructor(server: EventEmitter) {
    server.on('connection', (socket: Socket) => {
      const from = nameOf(socket);
      this.#all.add(socket);
      this.#silent.set(from, socket);
      socket.once('close', () => {
        this.#all.delete(socket);
        this.#silent.delete(from);
      });
    });
    // A request comes on a TLS socket, which is another object with the same other end.
    server.on('request', ({ socket }: { readonly socket: Socket }) => this.#silent.delete(nameOf(socket)));
  }

  /** Closes those that have never asked anything. */
  closeSilent(): void {
    for (const socket of this.#silent.values()) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.#all) socket.destroy();
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
