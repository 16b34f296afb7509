import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

const here = resolve('scripts/control-plane');
const programs = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];

/** Why there can be no control plane here; whoever can do without one skips on it. */
export class NoControlPlane extends Error {
  override readonly name = 'NoControlPlane';
}

/**
 * The folder that holds the four programs of a control plane: KUBEBUILDER_ASSETS, the convention of controller-runtime's
 * envtest; or the user's cache, from an earlier build; or built now from the Go module proxy, without containers.
 */
export function binaries(say: (line: string) => void): string {
  const assets = process.env.KUBEBUILDER_ASSETS;
  if (assets) {
    const missing = programs.filter((name) => !existsSync(join(assets, name)));
    if (missing.length === 0) return assets;
    throw new Error(
      `KUBEBUILDER_ASSETS is ${assets}, which has no ${missing.join(', no ')}; put it there, or unset the variable to have all four built`,
    );
  }
  const pins = readFileSync(join(here, 'go.mod'), 'utf8');
  const version = /k8s\.io\/kubernetes (v[\d.]+)/.exec(pins)?.[1] ?? '';
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'signet', 'control-plane');
  // Other pins make another control plane, even of the same version.
  const folder = join(cache, `${version}-${createHash('sha256').update(pins).digest('hex').slice(0, 8)}`);
  if (!programs.every((name) => existsSync(join(folder, name)))) build(version, cache, folder, say);
  return folder;
}

function build(version: string, cache: string, folder: string, say: (line: string) => void): void {
  if (spawnSync('go', ['version']).status !== 0)
    throw new NoControlPlane(
      `there is no control plane: set KUBEBUILDER_ASSETS to a folder with ${programs.join(', ')}, or install Go 1.26 or later to have them built`,
    );
  say(`building Kubernetes ${version} and etcd into ${folder}: once a machine, about 12 minutes on two cores`);
  mkdirSync(cache, { recursive: true });
  // Built beside its place and renamed into it: two builds at once, or one that was stopped, leave nothing half done.
  const work = mkdtempSync(join(cache, 'building-'));
  try {
    const linker = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
    const { status } = spawnSync('go', ['build', '-trimpath', '-ldflags', linker, '-o', `${work}/`, 'tool'], {
      cwd: here,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if (status !== 0) throw new Error('the control plane could not be built; the words of `go build` are above');
    // Go names a program after its folder.
    renameSync(join(work, 'server'), join(work, 'etcd'));
    if (!existsSync(folder)) renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
