import type { Mesh } from '../inject/mesh.js';
import type { Settings } from '../inject/settings/settle.js';
import { follow, type Json } from '../json.js';
import { table } from '../values/keys.js';
import type { Origin } from '../values/load.js';
import { eachLeaf } from '../values/schema.js';

/** A setting that is not at its default, and where it comes from. */
export interface SettingRow {
  readonly key: string;
  readonly value: Json;
  readonly default: Json;
  readonly origin: SettingOrigin;
}

/** Where a setting of one Pod comes from: the values, or an annotation. */
export type SettingOrigin =
  | Origin
  | { readonly from: 'workload' | 'namespace' | 'profile'; readonly annotation: string };

/** Every setting of a Pod that differs from the built-in default, in the order of the table of values. */
export function changedSettings({ loaded }: Mesh, settings: Settings | undefined): readonly SettingRow[] {
  const rows: SettingRow[] = [];
  const values = settings?.values ?? loaded.values;
  eachLeaf(table, (path, leaf) => {
    const value = follow(values, path) ?? null;
    if (JSON.stringify(value) === JSON.stringify(leaf.fallback)) return;
    const applied = settings?.applied.findLast(({ change }) => change.path === path.join('.'));
    const origin = applied === undefined ? loaded.originOf(path) : { from: applied.on, annotation: applied.annotation };
    rows.push({ key: path.join('.'), value, default: leaf.fallback, origin });
  });
  return rows;
}

/** Where a setting comes from, in words. */
export function settingOriginText(origin: SettingOrigin): string {
  switch (origin.from) {
    case 'default':
      return 'default';
    case 'preset':
      return `preset ${origin.preset}`;
    case 'file':
      return `${origin.file}:${origin.line}:${origin.column}`;
    case 'set':
      return origin.text;
    case 'workload':
      return `annotation ${origin.annotation} on the Pod`;
    case 'namespace':
      return `annotation ${origin.annotation} on the namespace`;
    case 'profile':
      return `profile ${origin.annotation}`;
  }
}
