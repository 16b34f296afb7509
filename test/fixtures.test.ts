import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { at, isArray, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../src/json.js';
import { parseManifest } from '../src/manifest/parse.js';
import { documentsIn, pick, type Ran, read, signet, structuralFaults, templatesIn } from './support.js';

// One folder a case, named by the behaviour it shows; `case.yaml` says what to run and what must come of it:
//   run: inject -f values.yaml input.yaml    the command line, in the folder of the case
//   exit: 0                                  exit code; 0 when it is not said
//   equals: {0: {/spec/…: value}}            by document, values at pointers; [name] picks an item of a list
//   without: {0: [/spec/…]}                  by document, pointers where there is nothing
//   out, err: [text]                         pieces of standard output and standard error
//   silent: true                             nothing on standard output
// What must hold for every injection is checked without being said.
const start = process.cwd();
const folder = `${start}/fixtures`;

for (const name of readdirSync(folder).sort()) {
  if (!existsSync(`${folder}/${name}/case.yaml`)) continue;
  t.test(name.replaceAll('-', ' '), async (t) => {
    process.chdir(`${folder}/${name}`);
    t.teardown(() => process.chdir(start));
    const { json } = parseManifest(read('case.yaml'), `${name}/case.yaml`);
    if (!isObject(json)) throw new Error('case.yaml must be a map');
    const args = (textAt(json, 'run') ?? '').split(' ').filter((word) => word !== '');
    const ran = await signet(args);
    t.equal(ran.code, at(json, 'exit') ?? 0, `exit code; standard error: ${ran.err}`);
    saysWhatItShould(t, json, ran);
    holdsWhatItShould(t, json, ran);
    if (args[0] === 'inject' && ran.code < 2) await keepsItsPromises(t, args, ran);
  });
}

function saysWhatItShould(t: Test, expected: JsonObject, ran: Ran): void {
  for (const piece of listAt(expected, 'out'))
    t.ok(ran.out.includes(String(piece)), `standard output has ${piece}`, { found: ran.out.slice(0, 4000) });
  for (const piece of listAt(expected, 'err'))
    t.ok(ran.err.includes(String(piece)), `standard error has ${piece}`, { found: ran.err });
  if (ran.code === 2 || at(expected, 'silent') === true) t.equal(ran.out, '', 'nothing is printed');
}

function holdsWhatItShould(t: Test, expected: JsonObject, ran: Ran): void {
  const wanted = Object.entries(objectAt(expected, 'equals'));
  const unwanted = Object.entries(objectAt(expected, 'without'));
  if (wanted.length + unwanted.length === 0) return;
  const documents: Json[] = ran.out.startsWith('[') ? [JSON.parse(ran.out)] : documentsIn(ran.out);
  for (const [index, values] of wanted) {
    for (const [pointer, value] of Object.entries(isObject(values) ? values : {})) {
      t.same(pick(documents[Number(index)], pointer), value, `document ${index} at ${pointer}`);
    }
  }
  for (const [index, pointers] of unwanted) {
    for (const pointer of isArray(pointers) ? pointers : [])
      t.equal(pick(documents[Number(index)], String(pointer)), undefined, `document ${index} has no ${pointer}`);
  }
}

/** Whatever is injected: the Pods are sound, again changes nothing, and taking it out gives back the input. */
async function keepsItsPromises(t: Test, args: readonly string[], ran: Ran): Promise<void> {
  if (args.includes('-o') || args.includes('--output')) return;
  for (const document of documentsIn(ran.out))
    t.same(templatesIn(document).flatMap(structuralFaults), [], 'the Pods are sound');
  const files = args.filter((arg) => /^input/.test(arg));
  const [file] = files;
  if (file === undefined || files.length > 1) return;
  const input = read(file);
  const scratch = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(scratch, { recursive: true }));
  const copy = join(scratch, file);
  writeFileSync(copy, ran.out);
  const again = await signet(args.map((arg) => (arg === file ? copy : arg)));
  t.equal(again.out, ran.out, 'injecting again changes nothing');
  // Without a record there is nothing of ours to take out: Linkerd's rules hold, which know no way back.
  if (!ran.out.includes('signet.dev/status') || input.includes('signet.dev/status')) return;
  t.ok(file.endsWith('.json') || containsLines(ran.out, input), 'every line of the input is in the output, in order');
  const back = await signet(['uninject', ...templateFlags(args), copy]);
  t.equal(back.out, input, 'taking it out gives back the input');
}

function templateFlags(args: readonly string[]): readonly string[] {
  const index = args.indexOf('--template');
  return index < 0 ? [] : args.slice(index, index + 2);
}

/** Every line of block style is there; a line with a flow collection, an alias or a null may have gone on. */
function containsLines(output: string, input: string): boolean {
  const lines = output.split(/\r?\n/);
  let from = 0;
  for (const line of input.split(/\r?\n/)) {
    const found = lines.indexOf(line, from);
    if (found >= 0) from = found + 1;
    else if (!/[{}[\]*~"]|null/.test(line)) return false;
  }
  return true;
}
