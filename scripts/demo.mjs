// What `npm start` shows: a manifest that asks for injection, what signet says of it, and what it would change.
import { spawnSync } from 'node:child_process';

const folder = 'fixtures/every-setting-is-explained-with-its-origin';
const flags = ['-f', `${folder}/values.yaml`, '--namespaces', `${folder}/namespaces.yaml`, `${folder}/input.yaml`];

for (const verb of ['explain', 'diff']) {
  console.log(`$ signet ${[verb, ...flags].join(' ')}\n`);
  const { status } = spawnSync(process.execPath, ['dist/signet.js', verb, ...flags], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  console.log();
}
