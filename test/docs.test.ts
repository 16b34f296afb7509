import { existsSync, readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { bundledPackages, withTables } from '../scripts/docs.js';
import { checks } from '../src/commands/doctor.js';
import { signet } from './support.js';

const readme = readFileSync('README.md', 'utf8');

t.test('the tables of the README are those of the program', async (t) => {
  t.equal(await withTables(readme), readme, 'npm run docs brings them up to date');
  t.ok((readme.match(/<!-- table: /g) ?? []).length >= 6, 'there are tables');
});

t.test('every claim of SECURITY.md has a test, and its table of licences is that of the bundle', async (t) => {
  const text = readFileSync('SECURITY.md', 'utf8');
  t.equal(await withTables(text), text, 'npm run docs brings it up to date');
  const sources = [...readdirSync('test'), ...readdirSync('test/cluster').map((file) => `cluster/${file}`)]
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => readFileSync(`test/${file}`, 'utf8'))
    .join('\n');
  const bullets = text.split(/\n(?=- |#|\n)/).filter((piece) => /^- (\*\*Can\*\*|Cannot)/.test(piece));
  t.ok(bullets.length > 15, `${bullets.length} claims`);
  for (const bullet of bullets) t.match(bullet, /_Test: [^_]+\._/s, bullet.slice(0, 60));
  const claims = [...text.matchAll(/_Test: (.+?)\._/gs)].map(([, name = '']) => name.replaceAll(/\s+/g, ' '));
  for (const name of claims) {
    const fixture = /^fixture (.*)$/.exec(name)?.[1];
    t.ok(fixture === undefined ? sources.includes(name) : existsSync(`fixtures/${fixture}/case.yaml`), name);
  }
  const allowed = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0'];
  for (const [name, , licence = ''] of bundledPackages()) t.ok(allowed.includes(licence), `${name}: ${licence}`);
});

t.test('what the README links to is there', async (t) => {
  const headings = new Set(
    [...readme.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
  for (const { section, check } of checks) t.ok(headings.has(section.slice(1)), `doctor, ${check}: ${section}`);
  for (const [, target = ''] of readme.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (target.startsWith('#')) t.ok(headings.has(target.slice(1)), target);
    else if (!target.startsWith('http')) t.ok(existsSync(target), target);
  }
});

t.test('the commands of the README run', async (t) => {
  const commands = [...readme.matchAll(/^\$ signet (.*)$/gm)].map(([, line = '']) =>
    line.split(' ').filter((word) => word !== ''),
  );
  t.ok(commands.length >= 4, `${commands.length} commands`);
  for (const args of commands) {
    const { code, err } = await signet(args);
    t.ok(code < 2, `signet ${args.join(' ')}: ${err}`);
  }
});

t.test('no file of the project names a machine, and every one that people look for is there', async (t) => {
  for (const file of ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'LICENSE', '.ci/run'])
    t.ok(existsSync(file), file);
  t.match(readFileSync('LICENSE', 'utf8'), /Apache License\s+Version 2\.0/);
  t.notMatch(readFileSync('package-lock.json', 'utf8'), /"resolved"/, 'the lock file names no registry');
});
