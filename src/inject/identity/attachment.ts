import type { JsonObject } from '../../json.js';

/** A volume of the Pod and its mount: the two never go one without the other. */
export interface Attachment {
  readonly volume: JsonObject;
  readonly mount: JsonObject;
}

/** What an identity needs: volumes with their mounts, and environment variables in their order. */
export interface IdentityParts {
  readonly attachments: readonly Attachment[];
  readonly environment: readonly JsonObject[];
}

/** A mount of something that is only read; said so where the values want it. */
export function readMount(name: string, mountPath: string, readOnly: boolean): JsonObject {
  return readOnly ? { name, mountPath, readOnly } : { name, mountPath };
}
