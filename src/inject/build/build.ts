import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import { spireSocket } from '../identity/spire.js';
import { tokenIdentity } from '../identity/token.js';
import { debugContainer } from './debug.js';
import { initContainer, xtablesVolume } from './init.js';
import type { PodFacts } from './pod-facts.js';
import { proxyAttachments, proxyContainer } from './proxy.js';
import { asTyped } from './typed.js';
import { validatorContainer } from './validator.js';

/** Everything that a Pod's spec gets. */
export interface Parts {
  /** The volume of the init container; none in CNI mode. */
  readonly xtables: JsonObject | undefined;
  /** `linkerd-init`, or the validator in CNI mode. */
  readonly init: JsonObject;
  readonly debug: JsonObject | undefined;
  readonly volumes: readonly JsonObject[];
  readonly proxy: JsonObject;
}

/** Pods that differ in nothing we look at share one set of parts; past this many the memory starts over. */
const remembered = 256;
const known = new WeakMap<Values, Map<string, Parts>>();

/** Builds the parts for a Pod; the same settings and facts give the same objects, so that texts made of them can be kept. */
export function build(values: Values, facts: PodFacts, typed: boolean): Parts {
  const parts = known.get(values) ?? new Map<string, Parts>();
  known.set(values, parts);
  const key = keyOf(facts, typed);
  const found = parts.get(key);
  if (found !== undefined) return found;
  if (parts.size >= remembered) parts.clear();
  const made = typed ? typedParts(make(values, facts)) : make(values, facts);
  parts.set(key, made);
  return made;
}

/** Everything that facts are made of, as one text. */
function keyOf({ inboundPorts, serviceAccountMount, capabilities }: PodFacts, typed: boolean): string {
  const mount = serviceAccountMount === undefined ? '' : `${serviceAccountMount.name} ${serviceAccountMount.readOnly}`;
  return `${typed} ${inboundPorts} ${mount} ${capabilities === undefined ? '' : JSON.stringify(capabilities)}`;
}

function make(values: Values, facts: PodFacts): Parts {
  const identity = tokenIdentity(values);
  const attachments = [...proxyAttachments(values, identity), ...spireSocket(values)];
  return {
    xtables: values.cniEnabled ? undefined : xtablesVolume,
    init: values.cniEnabled ? validatorContainer(values) : initContainer(values, facts),
    debug: values.signet.debugContainer.enabled ? debugContainer(values) : undefined,
    volumes: attachments.map(({ volume }) => volume),
    proxy: proxyContainer(values, facts, identity, attachments),
  };
}

function typedParts(parts: Parts): Parts {
  return {
    ...parts,
    init: asTyped(parts.init),
    proxy: asTyped(parts.proxy),
    debug: parts.debug && asTyped(parts.debug),
  };
}
