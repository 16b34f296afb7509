import type { Place } from '../manifest/errors.js';
import { offsetOf } from '../manifest/locate.js';
import { placeAt } from '../manifest/parse.js';
import { missed, summaryOf, Tally } from '../report/summary.js';
import { eachDocument } from './documents.js';
import type { Given } from './flags.js';
import { openInputs } from './input.js';
import { formatFrom, Output } from './output.js';
import { refusalError } from './refusal.js';
import { settingFrom } from './setting.js';
import type { Terminal } from './terminal.js';
import { injectDocument, type Judged, nameOf, type Setting } from './transform.js';

/** Prints manifests as the webhook would leave them. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const format = formatFrom(given);
  const inputs = await openInputs(given.files);
  const setting = await settingFrom(given, inputs, terminal);
  const output = new Output(format);
  const tally = new Tally();
  const notes: string[] = [];
  try {
    eachDocument(inputs, terminal, (chunk, input, isFirst) => {
      const { text, manifest, judged } = injectDocument(chunk, input.name, setting);
      for (const one of judged) {
        if (one.verdict.outcome === 'refuse') throw refusalError(manifest, one);
        tally.add(one.verdict, setting.origin);
        notes.push(...notesOn(one, setting, () => placeAt(manifest, offsetOf(manifest, one.path))));
      }
      output.add(text, isFirst);
    });
    output.flush(terminal);
  } finally {
    output.close();
    for (const input of inputs) input.close();
  }
  for (const note of notes.slice(0, mostNotes)) terminal.err(`${note}\n`);
  if (notes.length > mostNotes) terminal.err(`… and ${notes.length - mostNotes} more; signet explain tells them all\n`);
  terminal.err(`${summaryOf(tally)}\n`);
  return given.has('require') && tally.missing > 0 ? 1 : 0;
}

/** More notes than this are no longer read by anybody. */
const mostNotes = 100;

/** What is to be said of one object, with its place in the file. */
function notesOn({ verdict, namespace }: Judged, { origin }: Setting, placeOf: () => Place): string[] {
  const isMissed = missed(verdict, origin);
  if (!isMissed && verdict.warnings.length === 0) return [];
  const { file, line, column } = placeOf();
  const name = `${file}:${line}:${column}: ${nameOf(verdict)} in namespace ${namespace || '(none)'}`;
  const missing = isMissed ? [`${name}: not injected: ${verdict.message} (${verdict.reason})`] : [];
  return [...missing, ...verdict.warnings.map((warning) => `${name}: ${warning}`)];
}
