import { nearest } from '../values/nearest.js';
import { mistakeText } from './documents.js';
import { Failure } from './failure.js';
import { readFlags } from './flags.js';
import { overview, verbHelp } from './help.js';
import type { Terminal } from './terminal.js';
import { verbs } from './verbs.js';
import { version } from './version.js';

/** Runs one command line and gives its exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    // By name: what is loaded later comes with classes of its own.
    const name = error instanceof Error ? error.name : '';
    if (name === 'BrokenPipe') return 0;
    if (!(error instanceof Error) || (name !== 'Failure' && name !== 'ManifestError')) throw error;
    terminal.err(`${name === 'Failure' ? error.message : mistakeText(error)}\n`);
    return 2;
  }
}

async function dispatch([name = '', ...rest]: readonly string[], terminal: Terminal): Promise<number> {
  if (name === '--version' || name === 'version') return say(terminal, `${version}\n`);
  if (name === 'help' && rest.length > 0) return dispatch([...rest.slice(0, 1), '--help'], terminal);
  if (name === '--help' || name === '-h' || name === 'help') return say(terminal, overview());
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) throw new Failure(name === '' ? overview().trimEnd() : unknownVerb(name));
  const given = readFlags(rest, [...verb.flags, 'help']);
  if (given.has('help')) return say(terminal, verbHelp(verb));
  const [first] = given.files;
  if (first !== undefined && !verb.usage.includes('FILE'))
    throw new Failure(
      verb.flags.includes('values')
        ? `signet ${name} takes no files; did you mean -f ${first}?`
        : `signet ${name} takes flags alone; found ${JSON.stringify(first)}`,
    );
  return verb.run(given, terminal);
}

function say(terminal: Terminal, text: string): number {
  terminal.out(text);
  return 0;
}

function unknownVerb(name: string): string {
  const near = nearest(name, Object.keys(verbs));
  return `signet has no verb ${JSON.stringify(name)}${near === undefined ? '' : `; did you mean ${near}?`}\nsignet --help lists them`;
}
