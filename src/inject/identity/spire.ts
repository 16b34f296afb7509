import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { type Attachment, readMount } from './attachment.js';

/**
 * The directory of the SPIRE agent's socket, from the node. Never the socket file: a mounted file stays the old, dead
 * one after the agent restarts.
 */
export function spireSocket({ signet }: Values): readonly Attachment[] {
  const { enabled, path, mountPath } = signet.spire;
  if (!enabled) return [];
  return [
    {
      volume: { name: names.volumes.spire, hostPath: { path, type: 'Directory' } },
      mount: readMount(names.volumes.spire, mountPath, true),
    },
  ];
}
