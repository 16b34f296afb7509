import { eachDocument } from './documents.js';
import type { Given } from './flags.js';
import { openInputs } from './input.js';
import { formatFrom, Output } from './output.js';
import { templateRow } from './setting.js';
import type { Terminal } from './terminal.js';
import { hasRecords, uninjectDocument } from './transform.js';

/** Takes everything injected out of manifests again. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const templates = given.all('template').map(templateRow);
  const output = new Output(formatFrom(given));
  const inputs = await openInputs(given.files);
  let changed = 0;
  const withRecords = new Set<string>();
  try {
    eachDocument(inputs, terminal, (chunk, input) => {
      if (hasRecords(chunk, input.name, templates)) withRecords.add(input.name);
    });
    eachDocument(inputs, terminal, (chunk, input, isFirst) => {
      const result = uninjectDocument(chunk, input.name, templates, withRecords.has(input.name));
      changed += result.changed;
      output.add(result.text, isFirst);
    });
    output.flush(terminal);
  } finally {
    output.close();
    for (const input of inputs) input.close();
  }
  terminal.err(`signet: ${changed} uninjected\n`);
  return 0;
}
