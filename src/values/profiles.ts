import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import { pathFlaw, trustDomainFlaw } from './spiffe-rules.js';
import { isTemplate, readTemplate, type Template } from './template.js';

/** The places that an identity can come from. */
export const sources = ['token', 'spire', 'podCertificate'] as const;
export type Source = (typeof sources)[number];

/** An identity for the Pods that it selects. */
export interface Profile {
  readonly name: string;
  /** Labels that a Pod must have; nothing selects no Pod, an empty map every Pod. */
  readonly matchLabels: { readonly [key: string]: string } | undefined;
  readonly source: Source;
  readonly spiffeID: SpiffeIdTemplate;
}

/** Trust domain and path of a SPIFFE ID, with the texts they were read from, for whoever has to find a mistake in them. */
export interface SpiffeIdTemplate {
  readonly trustDomain: Template;
  readonly path: Template;
  readonly written: string;
}

const domainText = '{{ .TrustDomain }}';
const pathText = '/ns/{{ .Namespace }}/sa/{{ .ServiceAccount }}';

/** `spiffe://<trust domain>/ns/<namespace>/sa/<ServiceAccount>`, as SPIRE's own controller and Istio have it. */
export const defaultSpiffeId: SpiffeIdTemplate = {
  trustDomain: [{ field: 'TrustDomain' }],
  path: [{ text: '/ns/' }, { field: 'Namespace' }, { text: '/sa/' }, { field: 'ServiceAccount' }],
  written: `spiffe://${domainText}${pathText}`,
};

/** What is wrong with a list of profiles: which one, what was expected, what was found. */
export interface ProfileFlaw {
  /** Its place in the list. */
  readonly index: number;
  readonly profile: string;
  readonly expected: string;
  readonly found: string;
}

const profileName = /^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/;
const knownKeys = ['name', 'selector', 'source', 'spiffeID'];

/** Reads the list of profiles; every flaw is told to `report`, and a profile with one is left out. */
export function readProfiles(
  list: readonly JsonObject[],
  report: (flaw: ProfileFlaw) => void = () => {},
): readonly Profile[] {
  const seen = new Set<string>();
  return list.flatMap((one, index) => {
    const name = typeof one.name === 'string' ? one.name : '';
    const called = name === '' ? `number ${index + 1}` : JSON.stringify(name);
    let isSound = true;
    const flaw = (expected: string, found: string) => {
      isSound = false;
      report({ index, profile: called, expected, found });
    };
    // The name becomes a label of the Pod, part of the name of an object, and the value of an annotation that may name a source.
    if (!profileName.test(name)) flaw('a name of at most 50 lower-case letters, digits and -', shown(one.name));
    else if (sources.some((source) => source === name)) flaw('a name that is not the name of a source', shown(name));
    else if (seen.has(name)) flaw('a name that no other profile has', shown(name));
    seen.add(name);
    for (const key of Object.keys(one).filter((key) => !knownKeys.includes(key)))
      flaw(`only the keys ${knownKeys.join(', ')}`, shown(key));
    const source = sources.find((word) => word === one.source);
    if (source === undefined) flaw(`source to be one of ${sources.join(', ')}`, shown(one.source));
    const matchLabels = readSelector(one.selector, flaw);
    const spiffeID = readSpiffeId(one.spiffeID, flaw);
    return isSound && source !== undefined ? [{ name, matchLabels, source, spiffeID }] : [];
  });
}

type Tell = (expected: string, found: string) => void;

function readSelector(selector: Json | undefined, flaw: Tell): Profile['matchLabels'] {
  if (selector === undefined || selector === null) return undefined;
  const labels = isObject(selector) ? (selector.matchLabels ?? undefined) : undefined;
  if (!isObject(selector) || Object.keys(selector).some((key) => key !== 'matchLabels')) {
    flaw('selector to be a map with matchLabels alone', shown(selector));
    return undefined;
  }
  if (labels === undefined) return undefined;
  if (!isObject(labels) || Object.values(labels).some((value) => isObject(value) || isArray(value) || value === null)) {
    flaw('selector.matchLabels to be a map of texts', shown(labels));
    return undefined;
  }
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]));
}

function readSpiffeId(given: Json | undefined, flaw: Tell): SpiffeIdTemplate {
  if (given === undefined || given === null) return defaultSpiffeId;
  if (!isObject(given) || Object.keys(given).some((key) => key !== 'trustDomain' && key !== 'path')) {
    flaw('spiffeID to be a map with trustDomain and path alone', shown(given));
    return defaultSpiffeId;
  }
  const domain = given.trustDomain ?? domainText;
  const path = given.path ?? pathText;
  const part = (name: string, text: Json): Template => {
    const read = typeof text === 'string' ? readTemplate(text) : { flaw: 'it is no text' };
    if (isTemplate(read)) return read;
    flaw(
      `spiffeID.${name} to be a template of .Namespace, .ServiceAccount, .TrustDomain, .Workload and label "key"`,
      `${shown(text)}: ${read.flaw}`,
    );
    return [];
  };
  const made = { trustDomain: part('trustDomain', domain), path: part('path', path) };
  // What no Pod could make good is found here, and not Pod by Pod.
  const wrongDomain =
    made.trustDomain.length === 0 && domain !== '' ? undefined : trustDomainFlaw(sample(made.trustDomain));
  if (wrongDomain !== undefined) flaw(`spiffeID.trustDomain to make a trust domain (${wrongDomain})`, shown(domain));
  const wrongPath = pathFlaw(sample(made.path));
  if (wrongPath !== undefined) flaw(`spiffeID.path to make a path (${wrongPath})`, shown(path));
  return { ...made, written: `spiffe://${String(domain)}${String(path)}` };
}

/** A template with the shortest thing that a Pod could fill in. */
function sample(template: Template): string {
  return template.map((piece) => ('text' in piece ? piece.text : 'x')).join('');
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80);
}
