import { follow, type Json, type JsonObject } from '../json.js';
import { writeJson, writeYaml } from '../manifest/whole.js';
import { settingOriginText } from '../report/settings.js';
import { brief, columns } from '../report/table.js';
import { table } from '../values/keys.js';
import { nest } from '../values/load.js';
import { merge } from '../values/merge.js';
import { eachLeaf } from '../values/schema.js';
import type { Given } from './flags.js';
import { formatFrom } from './output.js';
import type { Terminal } from './terminal.js';
import { valuesFrom } from './values-input.js';

/** Checks the values, and prints those in effect; with `--origin` one a line, with the place that each comes from. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const { values, originOf } = valuesFrom(given, terminal);
  const format = formatFrom(given);
  const rows: { readonly path: readonly string[]; readonly value: Json }[] = [];
  eachLeaf(table, (path) => rows.push({ path, value: follow(values, path) ?? null }));
  if (given.has('origin')) {
    const described = rows.map(({ path, value }) => ({
      key: path.join('.'),
      value,
      origin: settingOriginText(originOf(path)),
    }));
    if (format === 'json') terminal.out(writeJson(described));
    else
      terminal.out(`${columns(described.map(({ key, value, origin }) => [key, brief(value), origin])).join('\n')}\n`);
    return 0;
  }
  const tree = rows.reduce<JsonObject>((below, { path, value }) => merge(below, nest(path, value)), {});
  terminal.out(format === 'json' ? writeJson(tree) : writeYaml(tree));
  return 0;
}
