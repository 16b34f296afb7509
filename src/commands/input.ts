import { closeSync, createReadStream, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ManifestError } from '../manifest/errors.js';
import { type Chunk, Splitter, TooLargeError } from '../manifest/split.js';
import { causeOf, Failure } from './failure.js';
import { Spool } from './spool.js';

/** Something to read manifests from, as often as needed. */
export interface Input {
  /** How messages call it. */
  readonly name: string;
  readonly bytes: () => Iterable<Uint8Array>;
  readonly close: () => void;
}

/** A document may be this large: more than twice of what the API server takes (3 MiB), with room for comments. */
export const largestDocument = 8 * 1024 * 1024;
/** Strings of more than 128 KiB are not collected with the young, and would pile up between the large collections. */
const pieceSize = 64 * 1024;

/** Opens what a person names: files, directories, `https://` addresses, `-` for standard input. */
export async function openInputs(names: readonly string[]): Promise<readonly Input[]> {
  if (names.length === 0) throw new Failure('name at least one file or directory, or - for standard input');
  const inputs: Input[] = [];
  for (const name of names) {
    if (name === '') throw new Failure('the name of a file is empty');
    if (name === '-') inputs.push(await spooled('standard input', process.stdin));
    else if (/^https:\/\//.test(name)) inputs.push(await fetched(name));
    else if (/^[a-z][a-z\d+.-]*:\/\//i.test(name))
      throw new Failure(`cannot read ${name}: only https:// addresses are fetched`);
    else if (isStream(name)) inputs.push(await spooled(name, createReadStream(name)));
    else inputs.push(...filesAt(name).map(fileInput));
  }
  return inputs;
}

/** A pipe, such as `<(helm template …)`, can be read once only. */
function isStream(name: string): boolean {
  const stat = statSync(name, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isFile() && !stat.isDirectory();
}

function filesAt(name: string): readonly string[] {
  try {
    if (!statSync(name).isDirectory()) return [name];
    const found = readdirSync(name, { recursive: true })
      .map((entry) => join(name, String(entry)))
      .filter((path) => /\.(ya?ml|json)$/.test(path) && !isAside(path.slice(name.length)) && statSync(path).isFile())
      .sort();
    if (found.length === 0) throw new Failure(`there is no *.yaml, *.yml or *.json in ${name} or below`);
    return found;
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(`cannot read ${name}: ${causeOf(error)}`);
  }
}

/** Hidden folders, installed packages and kustomize's own file hold no manifests; a file that is named itself is read all the same. */
function isAside(path: string): boolean {
  return /(^|\/)(\.[^/]+|node_modules)\//.test(path) || /(^|\/)kustomization\.ya?ml$/.test(path);
}

function fileInput(name: string): Input {
  return { name, bytes: () => readFile(name), close: () => {} };
}

function* readFile(name: string): Generator<Uint8Array> {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(name, 'r');
    const buffer = Buffer.alloc(pieceSize);
    for (let length = readSync(descriptor, buffer); length > 0; length = readSync(descriptor, buffer))
      yield buffer.subarray(0, length);
  } catch (error) {
    throw error instanceof Failure || error instanceof ManifestError
      ? error
      : new Failure(`cannot read ${name}: ${causeOf(error)}`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Standard input and the network can be read once only, so they are kept for the second time. */
async function spooled(name: string, stream: AsyncIterable<Uint8Array>): Promise<Input> {
  const spool = new Spool();
  for await (const piece of stream) spool.write(Uint8Array.from(piece));
  return { name, bytes: () => spool.read(), close: () => spool.close() };
}

async function fetched(address: string): Promise<Input> {
  const response = await fetch(address).catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : causeOf(error);
    throw new Failure(`cannot fetch ${address}: ${cause}`);
  });
  if (!response.ok || response.body === null)
    throw new Failure(`cannot fetch ${address}: the server answered ${response.status} ${response.statusText}`);
  return spooled(address, response.body);
}

/** Reads an input as documents, one at a time. */
export function* documentsOf(input: Input): Generator<Chunk> {
  const splitter = new Splitter(largestDocument);
  try {
    for (const text of textOf(input)) yield* splitter.push(text);
    yield* splitter.end();
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    const place = { file: input.name, line: error.firstLine + 1, column: 1 };
    throw new ManifestError(place, `the document that begins here is larger than ${largestDocument / 1024 / 1024} MiB`);
  }
}

/** An input as text, piece by piece. Decodes UTF-8 strictly: a wrong byte that were let through would come out as another one. */
export function* textOf(input: Input): Generator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let before = 0;
  let lines = 1;
  for (const bytes of input.bytes()) {
    const zero = bytes.indexOf(0);
    const place = (line: number) => ({ file: input.name, line, column: 1 });
    if (zero >= 0)
      throw new ManifestError(
        place(lines + countLines(bytes, zero)),
        `byte ${before + zero} is zero: this is not a text file`,
      );
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: true });
    } catch {
      const line = lines + countLines(bytes, wrongByte(bytes));
      throw new ManifestError(
        place(line),
        'the file is not UTF-8: it holds a byte that cannot stand there; convert it, with iconv for example',
      );
    }
    yield text;
    before += bytes.length;
    lines += countLines(bytes, bytes.length);
  }
  try {
    decoder.decode();
  } catch {
    throw new ManifestError(
      { file: input.name, line: lines, column: 1 },
      'the file is not UTF-8: it ends in the middle of a character',
    );
  }
}

/** The first byte that makes a piece undecodable, by halving; a character cut off at the end of a half does not count. */
function wrongByte(bytes: Uint8Array): number {
  let low = 0;
  let high = bytes.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      low = middle;
    } catch {
      high = middle;
    }
  }
  return low;
}

function countLines(bytes: Uint8Array, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0 && at < end; at = bytes.indexOf(10, at + 1)) count++;
  return count;
}
