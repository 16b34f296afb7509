import { existsSync, readdirSync } from 'node:fs';
import fc from 'fast-check';
import jsonpatch, { type Operation } from 'fast-json-patch';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { injectDocument, type Setting, uninjectDocument } from '../src/commands/transform.js';
import { inject } from '../src/inject/inject.js';
import { meshOf } from '../src/inject/mesh.js';
import { origins } from '../src/inject/origin.js';
import { patchOf } from '../src/inject/patch.js';
import { uninject, uninjected } from '../src/inject/uninject.js';
import { isObject, type Json, type JsonObject } from '../src/json.js';
import { parseFull } from '../src/manifest/full.js';
import { parseManifest } from '../src/manifest/parse.js';
import { Reader } from '../src/manifest/read.js';
import { parseSimple } from '../src/manifest/simple.js';
import { Splitter } from '../src/manifest/split.js';
import { writeJson, writeYaml } from '../src/manifest/whole.js';
import { load } from '../src/values/load.js';
import { anyYaml, dice, workload } from './generate.js';
import { read, structuralFaults, templatesIn } from './support.js';

const loaded = load([]);
if ('mistakes' in loaded) throw new Error('the defaults are not valid');
const mesh = meshOf(loaded.loaded, 'signet test', () => 'checksum');
const namespace = { name: 'shop', labels: {}, annotations: { 'config.linkerd.io/proxy-log-format': 'json "quoted"' } };
const setting: Setting = {
  mesh,
  origin: origins.webhook,
  templates: [],
  namespaces: new Map([['shop', namespace]]),
  namespace: 'shop',
};
const runs = { numRuns: Number(process.env.SIGNET_RUNS ?? 300) };

function injected(object: JsonObject): JsonObject {
  const { additions } = inject(mesh, { object, namespace, origin: origins.webhook });
  const operations: Operation[] = structuredClone(patchOf(additions)) as Operation[];
  return jsonpatch.applyPatch(structuredClone(object), operations, true).newDocument;
}

t.test('whatever a Pod looks like', async (t) => {
  fc.assert(
    fc.property(workload, (object) => {
      const before = JSON.stringify(object);
      const result = injected(object);
      if (JSON.stringify(object) !== before) throw new Error('the input was changed');
      const faults = templatesIn(result).flatMap(structuralFaults);
      if (faults.length > 0) throw new Error(faults.join('; '));
      const again = inject(mesh, { object: result, namespace, origin: origins.webhook });
      if (again.additions.length > 0) throw new Error('injecting twice adds something');
      const back = uninjected(result, uninject(result));
      if (JSON.stringify(sorted(back)) !== JSON.stringify(sorted(object)))
        throw new Error(`uninject does not give back the input:\n${JSON.stringify(back)}`);
    }),
    runs,
  );
  t.pass('the patch applies and only adds, adds nothing twice, leaves a sound Pod, and can be undone');
});

t.test('whatever a file looks like', async (t) => {
  fc.assert(
    fc.property(workload, dice, (object, roll) => {
      const text = anyYaml(object, roll);
      const manifest = parseManifest(text, 'any.yaml');
      if (JSON.stringify(sorted(manifest.json)) !== JSON.stringify(sorted(object)))
        throw new Error(`misread:\n${text}`);
      const out = injectDocument({ text, firstLine: 0 }, 'any.yaml', setting);
      const { additions } = out.judged[0]?.verdict ?? { additions: [] };
      const patched = jsonpatch.applyPatch(
        structuredClone(object),
        structuredClone(patchOf(additions)) as Operation[],
        true,
      ).newDocument;
      const written = parseManifest(out.text, 'out.yaml').json;
      if (JSON.stringify(sorted(written)) !== JSON.stringify(sorted(patched)))
        throw new Error(`the file is not the patch:\n${out.text}`);
      const back = uninjectDocument({ text: out.text, firstLine: 0 }, 'out.yaml', [], true).text;
      if (back !== text)
        throw new Error(`not the same bytes:\n${text}\n=== became ===\n${back}\n=== by way of ===\n${out.text}`);
      const again = injectDocument({ text: out.text, firstLine: 0 }, 'out.yaml', setting).text;
      if (again !== out.text) throw new Error('injecting again changes the file');
    }),
    runs,
  );
  t.pass('the file is what the patch says, again changes nothing, and taking it out gives back every byte');
});

t.test('the quick reader reads nothing that the yaml package reads otherwise', async (t) => {
  let simple = 0;
  const same = (text: string) => {
    const quick = parseSimple(text);
    if (quick === undefined) return;
    simple++;
    const full = parseFull(text);
    const fail = (offset: number, message: string): never => {
      throw new Error(`${message} at ${offset}`);
    };
    const json = (root: Parameters<Reader['read']>[0] | undefined) => {
      try {
        return JSON.stringify(root === undefined ? null : new Reader(text, fail).read(root));
      } catch (error) {
        return String(error);
      }
    };
    if ('fault' in full) throw new Error(`accepted, though ${full.fault.message}:\n${text}`);
    if (json(quick) !== json(full.root))
      throw new Error(`read as ${json(quick)} instead of ${json(full.root)}:\n${text}`);
  };
  const mutation = fc.record({
    at: fc.nat(),
    remove: fc.integer({ min: 0, max: 3 }),
    insert: fc.constantFrom(
      '',
      ' ',
      '\n',
      ':',
      ': ',
      '-',
      '- ',
      '#',
      ' #',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      ',',
      '&a',
      '*a',
      '!',
      '|',
      '>',
      '%',
      '\t',
      '\r\n',
      '\r',
      '  ',
      'a',
      '---',
      '...',
      '?',
      '0',
      '~',
      '=',
    ),
  });
  fc.assert(
    fc.property(workload, dice, fc.array(mutation, { maxLength: 4 }), (object, roll, mutations) => {
      let text = anyYaml(object, roll);
      same(text);
      for (const { at, remove, insert } of mutations) {
        const offset = at % (text.length + 1);
        text = text.slice(0, offset) + insert + text.slice(offset + remove);
        same(text);
      }
    }),
    { numRuns: runs.numRuns * 4 },
  );
  for (const file of yamlFiles('fixtures')) for (const chunk of chunksOf(read(file))) same(chunk);
  // Nearly simple: what the reader accepts, with a few characters more or less.
  const seeds = yamlFiles('fixtures')
    .flatMap((file) => chunksOf(read(file)))
    .filter((text) => parseSimple(text) !== undefined);
  fc.assert(
    fc.property(fc.constantFrom(...seeds), fc.array(mutation, { minLength: 1, maxLength: 4 }), (seed, mutations) => {
      let text = seed;
      for (const { at, remove, insert } of mutations) {
        const offset = at % (text.length + 1);
        text = text.slice(0, offset) + insert + text.slice(offset + remove);
      }
      same(text);
    }),
    { numRuns: runs.numRuns * 20 },
  );
  t.ok(simple > 500, `${simple} documents were simple`);
});

t.test('text is written so that every reader of YAML gets it back', async (t) => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.stringMatching(/^[-+0-9_.:eExoTZ ~<>=|yesnofYESNOF]{0,8}$/),
    fc.string().map((one) => `${one}\n`),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 4 }), (entries) => {
      const value: Json = {
        list: entries.map(([, one]) => one),
        map: Object.fromEntries(entries.filter(([key]) => key !== '__proto__')),
      };
      const yaml = writeYaml(value);
      const readers = [
        () => parse(yaml),
        () => parse(yaml, { version: '1.1' }),
        () => parseManifest(yaml, '').json,
        () => parse(writeJson(value)),
        () => JSON.parse(writeJson(value)),
      ];
      for (const reader of readers)
        if (JSON.stringify(sorted(reader())) !== JSON.stringify(sorted(value)))
          throw new Error(`${JSON.stringify(value)} comes back as ${JSON.stringify(reader())}:\n${yaml}`);
    }),
    { numRuns: runs.numRuns * 3 },
  );
  t.pass();
});

t.test('a stream is cut where the yaml package cuts it, whatever the pieces', async (t) => {
  const line = fc.constantFrom(
    '---',
    '--- ',
    '---x',
    '...',
    '# c',
    '',
    'a: 1',
    '- b',
    '%YAML 1.2',
    '  --- no',
    'k: |',
    '  text',
    '--- {a: 1}',
  );
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      fc.array(fc.nat(40), { maxLength: 5 }),
      (lines, eol, closed, cuts) => {
        const text = lines.join(eol) + (closed ? eol : '');
        const splitter = new Splitter(1000);
        const bounds = [0, ...[...cuts].sort((a, b) => a - b), text.length];
        const pieces = bounds.slice(1).map((end, index) => text.slice(bounds[index], end));
        const chunks = [...pieces.flatMap((piece) => [...splitter.push(piece)]), ...splitter.end()];
        if (chunks.map((one) => one.text).join('') !== text) throw new Error('not the same text');
        let before = '';
        for (const chunk of chunks) {
          if (before.split('\n').length - 1 !== chunk.firstLine)
            throw new Error(`line ${chunk.firstLine} is wrong for ${JSON.stringify(chunk.text)}`);
          before += chunk.text;
        }
        const documents = parseAllDocuments(text);
        const isClean =
          'length' in documents && Array.isArray(documents) && documents.every(({ errors }) => errors.length === 0);
        if (!isClean || /%YAML[^-]*$/.test(text)) return;
        const theirs = documents.map((one) => one.toJS()).filter((one: unknown) => one !== null);
        const ours = chunks.map((one) => parse(one.text)).filter((one: unknown) => one !== null);
        if (JSON.stringify(ours) !== JSON.stringify(theirs))
          throw new Error(`${JSON.stringify(ours)} instead of ${JSON.stringify(theirs)} for ${JSON.stringify(text)}`);
      },
    ),
    { numRuns: runs.numRuns * 3 },
  );
  t.pass();
});

// The layout promise over every manifest there is: our own, and upstream's where they are at hand.
const upstream = process.env.LINKERD_CASES ?? '../shared/linkerd-cases';
t.test('every manifest at hand comes back byte for byte', async (t) => {
  let count = 0;
  for (const file of [...yamlFiles('fixtures'), ...(existsSync(upstream) ? yamlFiles(upstream) : [])]) {
    if (!/input/.test(file)) continue;
    for (const text of chunksOf(read(file))) {
      for (const origin of [origins.webhook, origins.cli]) {
        let out: string;
        try {
          const result = injectDocument({ text, firstLine: 0 }, file, { ...setting, origin });
          if (result.manifest.text !== text) continue; // was injected already
          out = result.text;
        } catch {
          continue; // a mistake, which other tests look at
        }
        if (out === text) continue;
        count++;
        t.equal(uninjectDocument({ text: out, firstLine: 0 }, file, [], true).text, text, `${origin.name}: ${file}`);
      }
    }
  }
  t.ok(count > 50, `${count} documents were injected`);
});

function yamlFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => `${folder}/${name}`)
    .filter((name) => /\.(ya?ml|json)$/.test(name) && !/index\.json|utf-8|binary/.test(name));
}

function chunksOf(text: string): string[] {
  const splitter = new Splitter(Number.MAX_SAFE_INTEGER);
  return [...splitter.push(text), ...splitter.end()].map((chunk) => chunk.text);
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, child]) => [key, sorted(child)]);
}
