import { createConnection, createServer, type Server, type Socket } from 'node:net';

/** A TCP balancer such as a Service is: connections go to one backend after the other, and not to one that refuses. */
export class Balancer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  backends: readonly number[] = [];
  #next = 0;

  constructor() {
    this.#server = createServer((client) => this.#connect(client, this.backends.length));
  }

  listen(port: number): Promise<void> {
    return new Promise((done) => this.#server.listen(port, '127.0.0.1', done));
  }

  /** Endpoints of a Service that is not ready get no new connections; those that are open go on. */
  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((done) => this.#server.close(() => done()));
  }

  #connect(client: Socket, tries: number): void {
    const port = this.backends[this.#next++ % Math.max(1, this.backends.length)];
    if (port === undefined || tries === 0) {
      client.destroy();
      return;
    }
    const backend = createConnection(port, '127.0.0.1');
    for (const socket of [client, backend]) {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    }
    client.on('error', () => {});
    backend.once('connect', () => {
      client.pipe(backend);
      backend.pipe(client);
      // Whatever ends one end ends the other, at once: a half-open connection would swallow a review.
      client.on('close', () => backend.destroy());
      backend.on('close', () => client.destroy());
      backend.on('error', () => client.destroy());
    });
    backend.once('error', () => {
      if (backend.readyState !== 'open' && !client.destroyed && backend.bytesWritten === 0)
        this.#connect(client, tries - 1);
    });
  }
}
