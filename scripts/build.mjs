// Builds dist/signet.js, the program as it is published, and with --tests what `npm test` runs, into build/.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const banner = { js: 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);' };
const common = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  define: { SIGNET_VERSION: JSON.stringify(version) },
  // The ESM build of yaml loses what is not used; its default entry for Node does not.
  alias: { yaml: './node_modules/yaml/browser/dist/index.js', undici: './scripts/stubs/undici.mjs' },
  legalComments: 'none',
  logLevel: 'warning',
};

export async function buildProgram() {
  rmSync('dist', { recursive: true, force: true });
  const shipped = { ...common, outdir: 'dist', minify: !process.env.SIGNET_PROFILE, banner };
  // The offline verbs are one file, because every file more costs a millisecond at the start; what they share with the
  // server is there twice.
  const later = ['./serve.js', './install.js', './doctor.js', './audit.js', './explain-cluster.js'];
  const program = await build({
    ...shipped,
    metafile: true,
    entryPoints: { signet: 'src/cli.ts' },
    external: later,
    banner: { js: `#!/usr/bin/env node\n${banner.js}` },
  });
  const rest = await build({
    ...shipped,
    metafile: true,
    entryPoints: Object.fromEntries(later.map((file) => [file.slice(2, -3), `src/commands/${file.slice(2, -3)}.ts`])),
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
  });
  writeFileSync('dist/LICENCES.txt', licences([program.metafile, rest.metafile]));
}

/** The packages that are part of the program, each with its licence: who ships them must ship these words as well. */
function licences(metafiles) {
  const folders = new Set();
  for (const { inputs } of metafiles)
    for (const file of Object.keys(inputs)) {
      const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file);
      if (found) folders.add(found[1]);
    }
  const packages = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)/i.test(one));
    const text = file !== undefined && existsSync(`${folder}/${file}`) ? readFileSync(`${folder}/${file}`, 'utf8') : '';
    return { line: `${name} ${version} ${license ?? 'UNKNOWN'}`, text: text.trim() };
  });
  packages.sort((a, b) => (a.line < b.line ? -1 : 1));
  const lines = [...new Set(packages.map(({ line }) => line))];
  const texts = packages.map(({ line, text }) => `== ${line}\n\n${text}\n`);
  return `signet contains these packages:\n\n${lines.join('\n')}\n\n${texts.join('\n')}`;
}

/** One file a source file, so that coverage sees every module as it is. */
export async function buildTests() {
  rmSync('build', { recursive: true, force: true });
  const sources = ['src', 'test', 'scripts'].flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
  await build({
    ...common,
    bundle: false,
    alias: undefined,
    entryPoints: sources,
    outdir: 'build',
    outbase: '.',
    sourcemap: 'linked',
  });
  // What we are measured against is built as we are: yaml's ESM build is a third faster than the one Node picks.
  await build({
    ...common,
    entryPoints: ['scripts/bench/bare-stream.ts'],
    outfile: 'build/scripts/bench/bare-stream.js',
  });
}

if (import.meta.url === `file://${process.argv[1]}`) {
  if (process.argv.includes('--tests')) await buildTests();
  else await buildProgram();
}
