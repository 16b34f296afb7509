import { Failure } from './failure.js';

/** Reads `HOST:PORT`, `:PORT` or `[::1]:PORT`. Without a host a server listens on every address, which a container needs. */
export function addressOf(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([\da-f:.]+)\]|([\w.-]*)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3] ?? Number.NaN);
  if (match === null || !(port <= 65535))
    throw new Failure(`an address is HOST:PORT or :PORT, such as 127.0.0.1:8443; found ${JSON.stringify(text)}`);
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}
