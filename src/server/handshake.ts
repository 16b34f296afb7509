import { connect } from 'node:tls';

/** Tries what the API server will do: a handshake with our own port, verified by a bundle, for a name. */
export function handshake(port: number, bundle: string, servername: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca: bundle, servername, timeout: 2000 });
    const end = (trouble: string | undefined) => {
      socket.destroy();
      resolve(trouble);
    };
    socket.once('secureConnect', () => end(undefined));
    socket.once('timeout', () => end('the handshake took too long'));
    socket.once('error', (error) => end(error.message));
  });
}
