import { at, isObject, type Json, type JsonObject, objectAt, textAt } from '../json.js';

/** What the API server asks about: one object that is about to be created. */
export interface Review {
  readonly uid: string;
  readonly operation: string;
  /** Kind, plural resource and subresource of the request. */
  readonly kind: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly dryRun: boolean;
  readonly object: JsonObject;
}

/** A body that is no review: which member is wrong, and what it should be. */
export interface NoReview {
  readonly wrong: string;
}

const version = 'admission.k8s.io/v1';

/** Reads a body as an AdmissionReview; the first member that is wrong is named. */
export function readReview(body: unknown): Review | NoReview {
  if (!isJsonObject(body)) return wrong('the body', 'a JSON object', Array.isArray(body) ? 'a list' : String(body));
  if (at(body, 'apiVersion') !== version) return wrong('apiVersion', version, at(body, 'apiVersion'));
  if (at(body, 'kind') !== 'AdmissionReview') return wrong('kind', 'AdmissionReview', at(body, 'kind'));
  const request = at(body, 'request');
  if (!isObject(request)) return wrong('request', 'an object', request);
  const uid = textAt(request, 'uid');
  if (!uid) return wrong('request.uid', 'text that is not empty', at(request, 'uid'));
  const operation = textAt(request, 'operation');
  if (operation === undefined)
    return wrong('request.operation', 'CREATE, UPDATE, DELETE or CONNECT', at(request, 'operation'));
  const kind = textAt(objectAt(request, 'kind'), 'kind');
  if (kind === undefined) return wrong('request.kind.kind', 'text', at(objectAt(request, 'kind'), 'kind'));
  const object = at(request, 'object');
  // A DELETE carries no object, and a CONNECT need not.
  if (operation === 'CREATE' && !isObject(object)) return wrong('request.object', 'an object', object);
  return {
    uid,
    operation,
    kind,
    resource: textAt(objectAt(request, 'resource'), 'resource') ?? '',
    subresource: textAt(request, 'subResource') ?? '',
    namespace: textAt(request, 'namespace') ?? '',
    dryRun: at(request, 'dryRun') === true,
    object: isObject(object) ? object : {},
  };
}

/** What a JSON parser gave is JSON; whether it is an object remains to be seen. */
function isJsonObject(body: unknown): body is JsonObject {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

function wrong(member: string, expected: string, found: Json | undefined): NoReview {
  const shown = found === undefined ? 'nothing' : JSON.stringify(found).slice(0, 60);
  return { wrong: `${member}: expected ${expected}, found ${shown}` };
}
