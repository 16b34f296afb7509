import { flagLines } from './flags.js';
import { type Verb, verbs } from './verbs.js';

/** What `signet --help` prints. */
export function overview(): string {
  const width = Math.max(...Object.keys(verbs).map((name) => name.length));
  const lines = Object.entries(verbs).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `signet gives every Kubernetes Pod an identity, and the proxy that uses it.

usage: signet VERB [flags] [FILE…]

${lines.join('\n')}

  signet VERB --help   flags of a verb
  signet --version     version

FILE is a file, a directory (*.yaml, *.yml, *.json, recursively), an https:// address, or - for standard input.
Exit codes: 0 done; 1 the answer is no (--exit-code, --require); 2 something is wrong, and nothing was printed.
`;
}

/** What `signet VERB --help` prints. */
export function verbHelp({ usage, summary, flags }: Verb): string {
  return `${usage}\n\n${summary}\n\n${flagLines([...flags, 'help'])}\n`;
}
