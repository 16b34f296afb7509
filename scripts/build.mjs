// Builds dist/signet.js, the program as it is published, and with --tests what `npm test` runs, into build/.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
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
  alias: { yaml: './node_modules/yaml/browser/dist/index.js' },
  legalComments: 'none',
  logLevel: 'warning',
};

export async function buildProgram() {
  rmSync('dist', { recursive: true, force: true });
  const shipped = { ...common, outdir: 'dist', minify: !process.env.SIGNET_PROFILE, banner };
  // The offline verbs are one file, because every file more costs a millisecond at the start; what they share with the
  // server is there twice.
  const later = ['./serve.js', './install.js', './doctor.js', './audit.js', './explain-cluster.js'];
  await build({
    ...shipped,
    entryPoints: { signet: 'src/cli.ts' },
    external: later,
    banner: { js: `#!/usr/bin/env node\n${banner.js}` },
  });
  await build({
    ...shipped,
    entryPoints: Object.fromEntries(later.map((file) => [file.slice(2, -3), `src/commands/${file.slice(2, -3)}.ts`])),
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
  });
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
