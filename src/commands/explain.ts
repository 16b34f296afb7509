import { existsSync } from 'node:fs';
import { bareNamespace } from '../inject/decide/opt-in.js';
import { offsetOf } from '../manifest/locate.js';
import { placeAt } from '../manifest/parse.js';
import { painter } from '../report/colour.js';
import { explanationOf, explanationText } from '../report/explain.js';
import { missed } from '../report/summary.js';
import { eachDocument } from './documents.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import { openInputs } from './input.js';
import { clusterKinds, looksLikeClusterName, readClusterName } from './object-name.js';
import { Output } from './output.js';
import { settingFrom } from './setting.js';
import type { Terminal } from './terminal.js';
import { injectDocument } from './transform.js';

/** Says what would happen to each workload, and why, with the origin of every setting. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const format = given.last('output') ?? 'text';
  if (format !== 'text' && format !== 'json')
    throw new Failure(`--output takes json here; found ${JSON.stringify(format)}`);
  if (given.files.some((file) => readClusterName(file) !== undefined && !existsSync(file)))
    return (await import('./explain-cluster.js')).run(given, terminal);
  const word = given.files.find((file) => looksLikeClusterName(file) && !existsSync(file));
  if (word !== undefined)
    throw new Failure(
      `${JSON.stringify(word)} is no file, and no workload of a cluster: those are KIND/NAME, of ${clusterKinds.join(', ')}`,
    );
  const inputs = await openInputs(given.files);
  const setting = await settingFrom(given, inputs, terminal);
  const paint = painter(terminal.isColoured);
  const output = new Output(undefined);
  let count = 0;
  let missing = 0;
  try {
    eachDocument(inputs, terminal, (chunk, input) => {
      const { manifest, judged } = injectDocument(chunk, input.name, setting);
      for (const { path, namespace, verdict } of judged) {
        if (verdict.subject.is !== 'workload') continue;
        const { line } = placeAt(manifest, offsetOf(manifest, path));
        const known = setting.namespaces.get(namespace) ?? bareNamespace(namespace);
        const one = explanationOf(setting.mesh, verdict, { file: input.name, line, namespace: known });
        const separator = count++ === 0 ? '' : format === 'json' ? ',\n' : '\n';
        output.add(
          separator + (format === 'json' ? JSON.stringify(one, undefined, 2) : explanationText(one, paint)),
          false,
        );
        if (missed(verdict, setting.origin)) missing++;
      }
    });
    if (format === 'json') terminal.out('[\n');
    output.flush(terminal);
    if (format === 'json') terminal.out(`${count > 0 ? '\n' : ''}]\n`);
  } finally {
    output.close();
    for (const input of inputs) input.close();
  }
  if (count === 0) terminal.err('signet: there is no workload in the input\n');
  return given.has('require') && missing > 0 ? 1 : 0;
}
