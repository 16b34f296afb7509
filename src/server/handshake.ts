import { isIP } from 'node:net';
import { checkServerIdentity, connect } from 'node:tls';

/** Tries what the API server will do: a handshake with our own port, verified by a bundle, for a name. */
export function handshake(port: number, bundle: string, name: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // An address is never sent as a server name, but it is verified like one.
    const servername = isIP(name) === 0 ? { servername: name } : {};
    const identity = {
      checkServerIdentity: (_host: string, cert: Parameters<typeof checkServerIdentity>[1]) =>
        checkServerIdentity(name, cert),
    };
    const socket = connect({ host: '127.0.0.1', port, ca: bundle, timeout: 2000, ...servername, ...identity });
    const end = (trouble: string | undefined) => {
      socket.destroy();
      resolve(trouble);
    };
    socket.once('secureConnect', () => end(undefined));
    socket.once('timeout', () => end('the handshake took too long'));
    socket.once('error', (error) => end(error.message));
  });
}
