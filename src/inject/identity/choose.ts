import { entryOf, type JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import { type Profile, readProfiles, type Source, sources } from '../../values/profiles.js';

/** Which identity a Pod gets, by whose word, and what was passed over for it. */
export interface Choice {
  readonly source: Source;
  readonly profile: Profile | undefined;
  readonly by: 'annotation' | 'profile' | 'values';
  /** Profiles that select the Pod as well, each with why it did not win. */
  readonly lost: readonly { readonly name: string; readonly why: string }[];
}

const known = new WeakMap<readonly JsonObject[], readonly Profile[]>();

/** The profiles of the values; a list is read once. */
export function profilesOf({ signet }: Values): readonly Profile[] {
  const list = signet.identity.profiles;
  const found = known.get(list) ?? readProfiles(list);
  known.set(list, found);
  return found;
}

/** The words that `signet.dev/identity` can be. */
export function wordsFor(values: Values): readonly string[] {
  return [...sources, ...profilesOf(values).map(({ name }) => name)];
}

/** The annotation, else the profile that selects with the most keys (ties: the smallest name), else the values. */
export function choose(values: Values, labels: JsonObject, annotation: string | undefined): Choice {
  const profiles = profilesOf(values);
  const matching = profiles.filter((one) => selects(one, labels)).sort(byRank);
  const profile = profiles.find(({ name }) => name === annotation);
  const source = profile?.source ?? sources.find((one) => one === annotation);
  if (source !== undefined) {
    const lost = matching.filter((one) => one !== profile).map(({ name }) => ({ name, why: 'the annotation decides' }));
    return { source, profile, by: 'annotation', lost };
  }
  const [winner, ...rest] = matching;
  if (winner === undefined)
    return { source: values.signet.identity.source, profile: undefined, by: 'values', lost: [] };
  const lost = rest.map((one) => ({ name: one.name, why: whyLost(one, winner) }));
  return { source: winner.source, profile: winner, by: 'profile', lost };
}

function keysOf({ matchLabels }: Profile): number {
  return Object.keys(matchLabels ?? {}).length;
}

function selects({ matchLabels }: Profile, labels: JsonObject): boolean {
  return (
    matchLabels !== undefined && Object.entries(matchLabels).every(([key, value]) => entryOf(labels, key) === value)
  );
}

/** Bare names are compared: with a namespace behind them `a-b` would come before `a`, as it does in Kuma. */
function byRank(a: Profile, b: Profile): number {
  return keysOf(b) - keysOf(a) || (a.name < b.name ? -1 : 1);
}

function whyLost(one: Profile, winner: Profile): string {
  return keysOf(one) === keysOf(winner)
    ? 'it selects by as many labels, and its name comes later'
    : `it selects by ${labelCount(one)}, ${winner.name} by ${labelCount(winner)}`;
}

/** By how much a profile selects, in words. */
export function labelCount(profile: Profile): string {
  const keys = keysOf(profile);
  return keys === 1 ? '1 label' : `${keys} labels`;
}
