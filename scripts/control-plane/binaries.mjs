/**
 * Where the four programs of a control plane are: in KUBEBUILDER_ASSETS (the convention of controller-runtime's envtest), in the
 * user's cache from an earlier build, or built now from the Go module proxy: nothing else is downloaded, no container is needed.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];

/** Says why the cluster tests cannot run here; thrown by `binaries` alone, so that a caller can skip on it. */
export class NoControlPlane extends Error {
  name = 'NoControlPlane';
}

/** The folder that holds etcd, kube-apiserver, kube-controller-manager and kubectl; builds them when nobody has yet. */
export function binaries(say = (line) => process.stderr.write(`${line}\n`)) {
  const assets = process.env.KUBEBUILDER_ASSETS;
  if (assets) {
    const missing = PROGRAMS.filter((name) => !existsSync(join(assets, name)));
    if (missing.length > 0)
      throw new NoControlPlane(
        `KUBEBUILDER_ASSETS is ${assets}, which has no ${missing.join(', no ')}; put it there, or unset the variable to have all four built`,
      );
    return assets;
  }
  const version = /k8s\.io\/kubernetes (v[0-9.]+)/.exec(readFileSync(join(here, 'go.mod'), 'utf8'))?.[1] ?? '';
  // A changed go.mod is another control plane, even of the same version.
  const pins = createHash('sha256')
    .update(readFileSync(join(here, 'go.mod')))
    .digest('hex')
    .slice(0, 8);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'signet', 'control-plane');
  const folder = join(cache, `${version}-${pins}`);
  if (PROGRAMS.every((name) => existsSync(join(folder, name)))) return folder;
  build(version, cache, folder, say);
  return folder;
}

function build(version, cache, folder, say) {
  if (spawnSync('go', ['version']).status !== 0)
    throw new NoControlPlane(
      'no control plane: set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl, or install Go 1.26 or later to have them built',
    );
  say(
    `building Kubernetes ${version} and etcd from the Go module proxy into ${folder}: once a machine, about 12 minutes on two cores`,
  );
  mkdirSync(cache, { recursive: true });
  // Built beside its place and renamed into it, so that two builds at once, or one that was stopped, leave nothing half done.
  const work = mkdtempSync(join(cache, 'building-'));
  try {
    const flags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
    const went = spawnSync(
      'go',
      ['build', '-trimpath', '-buildvcs=false', '-ldflags', flags, '-o', `${work}/`, 'tool'],
      {
        cwd: here,
        env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' },
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    if (went.status !== 0) throw new NoControlPlane('go build failed; its words are above');
    renameSync(join(work, 'server'), join(work, 'etcd'));
    if (!existsSync(folder)) renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
