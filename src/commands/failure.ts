/** Something that a person must put right: the command ends with 2, and nothing goes to standard output. */
export class Failure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Failure';
  }
}

const causes: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EISDIR', 'it is a directory'],
  ['ELOOP', 'too many symbolic links'],
  ['EMFILE', 'too many open files'],
  ['ENOENT', 'no such file or directory'],
  ['ENOSPC', 'no space left on the device'],
  ['ENOTDIR', 'a part of the path is not a directory'],
  ['EDQUOT', 'the disk quota is used up'],
]);

/** The operating system's reason in words. */
export function causeOf(error: unknown): string {
  const code = codeOf(error);
  return causes.get(code) ?? (error instanceof Error ? error.message : String(error));
}

/** The code of a system error, or an empty text. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
