import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import t from 'tap';

// The rules of the house that no compiler holds.

const sources = filesIn('src').filter((file) => file.endsWith('.ts'));

/** A room may import from rooms of a lower floor, never from one beside it or above. */
const floors: { readonly [room: string]: number } = {
  'json.ts': 0,
  values: 1,
  inject: 2,
  manifest: 3,
  report: 3,
  admission: 3,
  install: 3,
  server: 4,
  cluster: 4,
  commands: 5,
  'cli.ts': 6,
};

t.test('rooms import only from the floors below', async (t) => {
  for (const file of sources) {
    const room = roomOf(file);
    t.ok(room in floors, `${file} is in a room that has a floor`);
    for (const imported of importsOf(file)) {
      if (!imported.startsWith('.')) continue;
      const other = roomOf(normalize(join(dirname(file), imported)).replace(/\.js$/, '.ts'));
      const allowed = other === room || (floors[other] ?? 9) < (floors[room] ?? 0);
      t.ok(allowed, `${file} may import ${imported}`);
    }
  }
});

t.test('the core imports nothing but itself: no package, no Node built-in', async (t) => {
  for (const file of sources.filter((one) => /^src\/(values|inject|json)/.test(one))) {
    t.same(
      importsOf(file).filter((one) => !one.startsWith('.')),
      [],
      file,
    );
  }
});

t.test('no preset is known to the core, and no caller', async (t) => {
  for (const file of sources.filter((one) => one.startsWith('src/inject/'))) t.notMatch(code(file), /preset/i, file);
});

t.test('every file fits on a few screens', async (t) => {
  for (const file of sources) t.ok(readFileSync(file, 'utf8').split('\n').length <= 400, file);
  const short = sources.filter((file) => readFileSync(file, 'utf8').split('\n').length <= 200);
  t.ok(short.length / sources.length > 0.85, 'most files have no more than 200 lines');
});

t.test('no word silences the compiler or the linter', async (t) => {
  for (const file of [...sources, ...filesIn('test'), ...filesIn('scripts')].filter(
    (one) => /\.m?[jt]s$/.test(one) && one !== 'test/house.test.ts',
  )) {
    t.notMatch(
      readFileSync(file, 'utf8'),
      /\bas any\b|: any\b|as unknown as|@ts-|biome-ignore|\bTODO\b|\bFIXME\b/,
      file,
    );
  }
});

t.test('every exported function and class says in a sentence what it is for', async (t) => {
  for (const file of sources) {
    const lines = readFileSync(file, 'utf8').split('\n');
    for (const [index, line] of lines.entries()) {
      if (!/^export (async )?(function|class) /.test(line)) continue;
      const before = lines[index - 1] ?? '';
      t.match(before, /\*\/$/, `${file}:${index + 1}: ${line}`);
    }
  }
});

t.test('every module can be loaded', async (t) => {
  for (const file of sources.filter((one) => one !== 'src/cli.ts')) {
    t.ok(await import(join(process.cwd(), 'build', file.replace(/\.ts$/, '.js'))), file);
  }
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function roomOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((match) => match[1] ?? '');
}

function code(file: string): string {
  return readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
}
