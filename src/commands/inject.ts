import { missed, summaryOf, Tally } from '../report/summary.js';
import { eachDocument } from './documents.js';
import type { Given } from './flags.js';
import { openInputs } from './input.js';
import { formatFrom, Output } from './output.js';
import { refusalError } from './refusal.js';
import { settingFrom } from './setting.js';
import type { Terminal } from './terminal.js';
import { injectDocument, nameOf } from './transform.js';

/** Prints manifests as the webhook would leave them. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const format = formatFrom(given);
  const inputs = await openInputs(given.files);
  const setting = await settingFrom(given, inputs);
  const output = new Output(format);
  const tally = new Tally();
  const notes: string[] = [];
  try {
    eachDocument(inputs, terminal, (chunk, input, isFirst) => {
      const { text, manifest, judged } = injectDocument(chunk, input.name, setting);
      for (const one of judged) {
        if (one.verdict.outcome === 'refuse') throw refusalError(manifest, one);
        tally.add(one.verdict, setting.origin);
        const name = `${nameOf(one.verdict)} in namespace ${one.namespace || '(none)'}`;
        if (missed(one.verdict, setting.origin))
          notes.push(`${name}: not injected: ${one.verdict.message} (${one.verdict.reason})`);
        notes.push(...one.verdict.warnings.map((warning) => `${name}: ${warning}`));
      }
      output.add(text, isFirst);
    });
    output.flush(terminal);
  } finally {
    output.close();
    for (const input of inputs) input.close();
  }
  for (const note of notes) terminal.err(`${note}\n`);
  terminal.err(`${summaryOf(tally)}\n`);
  return given.has('require') && tally.missing > 0 ? 1 : 0;
}
