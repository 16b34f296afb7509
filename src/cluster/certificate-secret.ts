import { entryOf, type JsonObject, objectAt, textAt } from '../json.js';
import { type Api, ApiError } from './api.js';

/** The texts of a Secret with the version they were read at. */
export interface SecretTexts {
  readonly texts: Readonly<Record<string, string>>;
  readonly version: string;
}

/** Reads a Secret's data as text; nothing when there is no such Secret. */
export async function readSecret(api: Api, namespace: string, name: string): Promise<SecretTexts | undefined> {
  try {
    const secret = await api.get(`${secrets(namespace)}/${name}`);
    const data = objectAt(secret, 'data');
    const texts = Object.keys(data).map(
      (key) => [key, Buffer.from(entryOf(data, key) ?? '', 'base64').toString('utf8')] as const,
    );
    return { texts: Object.fromEntries(texts), version: textAt(objectAt(secret, 'metadata'), 'resourceVersion') ?? '' };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Writes a Secret that nobody has made, or changed since `basedOn`; false when somebody has. */
export async function writeSecret(
  api: Api,
  namespace: string,
  name: string,
  texts: Readonly<Record<string, string>>,
  basedOn: string | undefined,
): Promise<boolean> {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
  const metadata: JsonObject = {
    name,
    namespace,
    labels: { 'app.kubernetes.io/name': 'signet', 'app.kubernetes.io/managed-by': 'signet' },
  };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, data };
  try {
    if (basedOn === undefined) await api.create(secrets(namespace), secret);
    else
      await api.replace(`${secrets(namespace)}/${name}`, {
        ...secret,
        metadata: { ...metadata, resourceVersion: basedOn },
      });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) return false;
    throw error;
  }
}

function secrets(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/secrets`;
}
