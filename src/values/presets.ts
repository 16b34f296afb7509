import type { JsonObject } from '../json.js';

/**
 * A preset is a layer of values between the defaults and the files; nothing else in the program knows of it.
 * `signet` is stricter than Linkerd's chart where that costs nobody anything; `linkerd` undoes what is ours.
 */
export const presets: { readonly [name in 'signet' | 'linkerd']: JsonObject } = {
  signet: {
    proxy: { capabilities: { drop: ['ALL'] } },
  },
  linkerd: {
    signet: {
      copyCapabilities: true,
      debugContainer: { securityContext: null },
      excludedNamespaces: ['kube-system', 'cert-manager'],
      identity: { keys: { sizeLimit: '' }, readOnlyMounts: false },
      noteSkipped: false,
      onInvalidAnnotation: 'linkerd',
      onNameClash: 'skip',
      record: false,
      skipUnrunnable: false,
      trustRoots: { source: 'inline' },
    },
  },
};
