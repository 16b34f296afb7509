import { at, entryOf, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.js';
import type { Parts } from './build/build.js';
import type { Namespace } from './decide/opt-in.js';
import * as names from './names.js';

/** A level of the Pod Security Standards that forbids something. */
export type Level = 'baseline' | 'restricted';

/** Something among the parts that we add which a level forbids, and the setting that would help. */
export interface Violation {
  readonly part: string;
  readonly breaks: string;
  readonly help: string;
}

const label = 'pod-security.kubernetes.io/enforce';

/** The level that a namespace enforces, known from its label; nothing where it enforces none, or `privileged`. */
export function enforcedLevel({ labels }: Namespace): Level | undefined {
  const level = entryOf(labels, label);
  return level === 'baseline' || level === 'restricted' ? level : undefined;
}

interface Check {
  readonly level: Level;
  readonly breaks: string;
  readonly isBroken: (context: JsonObject) => boolean;
  /** The key that helps the Linkerd proxy; where none is named, its security context as a whole. */
  readonly forProxy?: string;
}

const harmless = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];
const profiles = ['RuntimeDefault', 'Localhost'];
const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];
const added = (context: JsonObject) => listAt(objectAt(context, 'capabilities'), 'add').map(String);
const seccomp = (context: JsonObject) => textAt(objectAt(context, 'seccompProfile'), 'type');

/** What the standards ask of a container's own security context; Pod-level settings, which are not ours, count for nothing. */
const checks: readonly Check[] = [
  { level: 'baseline', breaks: 'privileged', isBroken: (context) => at(context, 'privileged') === true },
  {
    level: 'baseline',
    breaks: 'adds capabilities beyond the baseline',
    forProxy: 'proxy.capabilities.add',
    isBroken: (context) => added(context).some((one) => !harmless.includes(one)),
  },
  { level: 'baseline', breaks: 'seccomp profile Unconfined', isBroken: (context) => seccomp(context) === 'Unconfined' },
  {
    level: 'baseline',
    breaks: 'AppArmor profile Unconfined',
    isBroken: (context) => textAt(objectAt(context, 'appArmorProfile'), 'type') === 'Unconfined',
  },
  {
    level: 'baseline',
    breaks: 'a procMount of its own',
    isBroken: (context) => !['Default', ''].includes(textAt(context, 'procMount') ?? ''),
  },
  {
    level: 'baseline',
    breaks: 'SELinux options of its own',
    isBroken: (context) => {
      const options = objectAt(context, 'seLinuxOptions');
      return (
        !seLinuxTypes.includes(textAt(options, 'type') ?? '') || Boolean(at(options, 'user') || at(options, 'role'))
      );
    },
  },
  {
    level: 'baseline',
    breaks: 'a process of the node on Windows',
    isBroken: (context) => at(objectAt(context, 'windowsOptions'), 'hostProcess') === true,
  },
  {
    level: 'restricted',
    breaks: 'allowPrivilegeEscalation is not false',
    isBroken: (context) => at(context, 'allowPrivilegeEscalation') !== false,
  },
  {
    level: 'restricted',
    breaks: 'does not drop ALL capabilities',
    forProxy: 'proxy.capabilities.drop: [ALL]',
    isBroken: (context) => !listAt(objectAt(context, 'capabilities'), 'drop').includes('ALL'),
  },
  {
    level: 'restricted',
    breaks: 'adds capabilities other than NET_BIND_SERVICE',
    forProxy: 'proxy.capabilities.add',
    isBroken: (context) => added(context).some((one) => one !== 'NET_BIND_SERVICE'),
  },
  {
    level: 'restricted',
    breaks: 'runAsNonRoot is not true',
    isBroken: (context) => at(context, 'runAsNonRoot') !== true,
  },
  {
    level: 'restricted',
    breaks: 'runs as user 0',
    forProxy: 'proxy.uid, or the annotation config.linkerd.io/proxy-uid',
    isBroken: (context) => at(context, 'runAsUser') === 0,
  },
  {
    level: 'restricted',
    breaks: 'no seccomp profile RuntimeDefault or Localhost',
    isBroken: (context) => !profiles.includes(seccomp(context) ?? ''),
  },
];

const volumeTypes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

const helps: { readonly [container: string]: string } = {
  [names.containers.init]: 'cniEnabled: true, with the Linkerd CNI plugin, does without it',
  [names.containers.validator]: 'networkValidator.securityContext',
  [names.containers.debug]: 'signet.debugContainer.securityContext',
  [names.containers.proxy]: 'proxy.securityContext',
};
const sidecarHelp = 'signet.sidecar.securityContext';

/** Everything among the parts that a level forbids. */
export function violations(parts: Parts, level: Level): readonly Violation[] {
  const applies = (one: { readonly level: Level }) => level === 'restricted' || one.level === 'baseline';
  const containers = [parts.init, parts.debug, parts.proxy].filter((one) => one !== undefined);
  const inContainers = containers.flatMap((container) => {
    const name = textAt(container, 'name') ?? '';
    const context = objectAt(container, 'securityContext');
    const part = `container ${name}`;
    const broken = checks
      .filter((check) => applies(check) && check.isBroken(context))
      .map(({ breaks, forProxy }) => {
        const own = name === names.containers.proxy ? forProxy : undefined;
        return { part, breaks, help: own ?? helps[name] ?? sidecarHelp };
      });
    // Only a sidecar of the administrator's has ports and probes of somebody's choice.
    if (listAt(container, 'ports').some((port) => isSet(at(port, 'hostPort'))))
      broken.push({ part, breaks: 'takes a port of the node', help: 'signet.sidecar.ports' });
    if (namesHost(container))
      broken.push({
        part,
        breaks: 'names a host in a probe or hook',
        help: 'the probes and lifecycle of signet.sidecar',
      });
    return broken;
  });
  const volumes = parts.xtables === undefined ? parts.volumes : [parts.xtables, ...parts.volumes];
  return [...inContainers, ...volumes.flatMap((volume) => volumeViolations(volume, level))];
}

/** Since 1.34 the baseline forbids probes and hooks that ask another host. */
function namesHost(container: JsonObject): boolean {
  const lifecycle = objectAt(container, 'lifecycle');
  const handlers = [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((key) => objectAt(container, key)),
    ...['postStart', 'preStop'].map((key) => objectAt(lifecycle, key)),
  ];
  return handlers.some((one) => ['httpGet', 'tcpSocket'].some((kind) => Boolean(at(objectAt(one, kind), 'host'))));
}

function volumeViolations(volume: JsonObject, level: Level): readonly Violation[] {
  const type = Object.keys(volume).find((key) => key !== 'name') ?? '';
  const isForbidden = level === 'baseline' ? type === 'hostPath' : !volumeTypes.includes(type);
  if (!isForbidden) return [];
  return [
    { part: `volume ${textAt(volume, 'name') ?? ''}`, breaks: `is of type ${type}`, help: 'signet.spire.volume: csi' },
  ];
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== 0 && !isObject(value);
}

/** Violations as one sentence for whoever creates the Pod. */
export function violationText(level: Level, found: readonly Violation[]): string {
  const parts = [...new Set(found.map(({ part }) => part))];
  const each = parts.map((part) => {
    const own = found.filter((one) => one.part === part);
    const help = [...new Set(own.map((one) => one.help))].join('; ');
    return `${part} ${own.map(({ breaks }) => breaks).join(', ')} (${help})`;
  });
  return `the namespace enforces Pod Security "${level}", which the injected parts do not meet: ${each.join('; ')}`;
}
