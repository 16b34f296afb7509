import { entryOf, type JsonObject } from '../../json.js';
import type { SpiffeIdTemplate } from '../../values/profiles.js';
import { pathFlaw, trustDomainFlaw } from '../../values/spiffe-rules.js';
import type { Piece, Template } from '../../values/template.js';

/** Whether an ID is made of the workload's name. */
export function usesWorkload({ trustDomain, path }: SpiffeIdTemplate): boolean {
  return [...trustDomain, ...path].some((piece) => 'field' in piece && piece.field === 'Workload');
}

/** What a template is filled from. */
export interface IdSubject {
  readonly Namespace: string;
  readonly ServiceAccount: string;
  readonly TrustDomain: string;
  readonly Workload: string;
  readonly labels: JsonObject;
}

/** A SPIFFE ID that keeps the rules, or what is wrong with it. */
export type SpiffeId = { readonly id: string; readonly referenced: string } | { readonly flaw: string };

/**
 * Fills a template for one Pod and checks the result against the SPIFFE rules. `referenced` is the same with references to
 * variables of the container for namespace and ServiceAccount, so that Pods share it and a manifest without a namespace is
 * right wherever it is applied.
 */
export function spiffeIdOf(template: SpiffeIdTemplate, subject: IdSubject): SpiffeId {
  const missing = [...template.trustDomain, ...template.path].find((piece) => isMissing(piece, subject));
  if (missing !== undefined)
    return {
      flaw: `${template.written}: the Pod has no ${'label' in missing ? `label ${missing.label}` : 'workload'}`,
    };
  // SPIRE's controller takes it from a label, which has no room for more.
  if (usesWorkload(template) && subject.Workload.length > 63)
    return { flaw: `${template.written}: the name of the workload, ${subject.Workload}, is longer than 63 characters` };
  const domain = fill(template.trustDomain, subject);
  const path = fill(template.path, subject);
  const id = `spiffe://${domain}${path}`;
  const flaw = trustDomainFlaw(domain) ?? pathFlaw(path) ?? (id.length > 2048 ? 'longer than 2048 bytes' : undefined);
  if (flaw !== undefined) return { flaw: `${template.written} gives ${shorten(id)}: ${flaw}` };
  const references = { ...subject, Namespace: '$(_pod_ns)', ServiceAccount: '$(_pod_sa)' };
  return { id, referenced: `spiffe://${fill(template.trustDomain, references)}${fill(template.path, references)}` };
}

function isMissing(piece: Piece, subject: IdSubject): boolean {
  if ('label' in piece) return entryOf(subject.labels, piece.label) === undefined;
  return 'field' in piece && piece.field === 'Workload' && subject.Workload === '';
}

function fill(template: Template, subject: IdSubject): string {
  return template
    .map((piece) => {
      if ('text' in piece) return piece.text;
      return 'label' in piece ? (entryOf(subject.labels, piece.label) ?? '') : subject[piece.field];
    })
    .join('');
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}
