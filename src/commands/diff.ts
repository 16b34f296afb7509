import { painter } from '../report/colour.js';
import { FileDiff } from '../report/diff.js';
import { eachDocument } from './documents.js';
import type { Given } from './flags.js';
import { openInputs } from './input.js';
import { Output } from './output.js';
import { refusalError } from './refusal.js';
import { settingFrom } from './setting.js';
import type { Terminal } from './terminal.js';
import { injectDocument } from './transform.js';

/** Shows what injection would change, as a unified diff with the line numbers of each file. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const inputs = await openInputs(given.files);
  const setting = await settingFrom(given, inputs, terminal);
  const paint = painter(terminal.isColoured);
  const output = new Output(undefined);
  let differs = false;
  try {
    let file = new FileDiff('', paint);
    const show = (hunks: string) => {
      differs ||= hunks !== '';
      output.add(hunks, false);
    };
    eachDocument(inputs, terminal, (chunk, input, isFirst) => {
      if (isFirst) {
        show(file.end());
        file = new FileDiff(input.name, paint);
      }
      const { text, manifest, judged } = injectDocument(chunk, input.name, setting);
      const refused = judged.find(({ verdict }) => verdict.outcome === 'refuse');
      if (refused !== undefined) throw refusalError(manifest, refused);
      show(file.next(chunk.text, text));
    });
    show(file.end());
    output.flush(terminal);
  } finally {
    output.close();
    for (const input of inputs) input.close();
  }
  return given.has('exit-code') && differs ? 1 : 0;
}
