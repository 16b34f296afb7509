import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';

/** A volume and where it is mounted. */
export interface Spot {
  readonly volume: string;
  readonly path: string;
}

/** Where a proxy expects its identity, whatever the source. */
export interface Layout {
  readonly keys: Spot;
  readonly token: Spot & { readonly file: string; readonly audience: string };
  /** `file`: the name that the bundle must have there; without one, that of its key. */
  readonly trustRoots: Spot & { readonly file: string | undefined };
  readonly socket: Spot;
  /** Certificate files: one with the key and its chain, or two; the trust roots lie beside them. */
  readonly credentials: Spot & { readonly files: CredentialFiles; readonly roots: string };
  /** What a proxy of this kind needs to be told, by what there is. */
  readonly socketVariables: readonly JsonObject[];
  readonly tokenVariables: readonly JsonObject[];
}

export type CredentialFiles =
  | { readonly credentialBundlePath: string }
  | { readonly keyPath: string; readonly certificateChainPath: string };

type LayoutName = Values['signet']['sidecar']['layout'];

/** Linkerd's own places; certificate files, which its proxy cannot read, lie beside them for others. */
function linkerd({ signet }: Values): Layout {
  const { spire, identity } = signet;
  return {
    keys: { volume: names.volumes.keys, path: names.paths.keys },
    token: {
      volume: names.volumes.token,
      path: names.paths.token,
      file: names.paths.tokenFile,
      audience: identity.token.audience,
    },
    trustRoots: { volume: names.volumes.trustRoots, path: names.paths.trustRoots, file: undefined },
    socket: { volume: names.volumes.spire, path: spire.mountPath },
    credentials: {
      volume: names.volumes.credentials,
      path: names.paths.credentials,
      files: { credentialBundlePath: identity.podCertificate.credentialBundlePath },
      roots: names.paths.rootsFile,
    },
    socketVariables: [],
    tokenVariables: [],
  };
}

/** The three ways of Istio's agent; names and places as its own template has them. */
function istio(values: Values): Layout {
  const { audience } = values.signet.identity.token;
  return {
    ...linkerd(values),
    keys: { volume: 'istio-envoy', path: '/etc/istio/proxy' },
    token: {
      volume: 'istio-token',
      path: '/var/run/secrets/tokens',
      file: 'istio-token',
      // A token for Linkerd's identity service is of no use to istiod.
      audience: audience === names.linkerdAudience ? 'istio-ca' : audience,
    },
    trustRoots: { volume: 'istiod-ca-cert', path: '/var/run/secrets/istio', file: 'root-cert.pem' },
    socket: { volume: 'workload-socket', path: '/var/run/secrets/workload-spiffe-uds' },
    credentials: {
      volume: 'workload-certs',
      path: '/var/run/secrets/workload-spiffe-credentials',
      files: { keyPath: 'key.pem', certificateChainPath: 'cert-chain.pem' },
      roots: 'root-cert.pem',
    },
    // The agent looks for a file called `socket`, and is told of any other name.
    socketVariables: [{ name: 'WORKLOAD_IDENTITY_SOCKET_FILE', value: values.signet.spire.socketFile }],
  };
}

/** Kuma's data plane: the socket in its place, and the word by which its control plane uses it. */
function kuma(values: Values): Layout {
  const base = linkerd(values);
  return {
    ...base,
    socket: { volume: 'kuma-spire-agent-socket', path: '/run/spire/sockets' },
    socketVariables: [{ name: 'KUMA_DATAPLANE_RUNTIME_SPIRE_SUPPORTED', value: 'true' }],
    tokenVariables: [{ name: 'KUMA_DATAPLANE_RUNTIME_TOKEN_PATH', value: `${base.token.path}/${base.token.file}` }],
  };
}

const layouts: { readonly [name in LayoutName]: (values: Values) => Layout } = { linkerd, istio, kuma };

/** The layout for whoever reads the identity: the Linkerd proxy has its own, all others the configured one. */
export function layoutFor(values: Values, reader: Reader): Layout {
  if (reader === 'linkerd') return linkerd(values);
  const { layout, paths } = values.signet.sidecar;
  const made = layouts[layout](values);
  const moved = <S extends Spot>(spot: S, path: string): S => (path === '' ? spot : { ...spot, path });
  const token = moved(made.token, paths.token);
  return {
    ...made,
    keys: moved(made.keys, paths.keys),
    token,
    trustRoots: moved(made.trustRoots, paths.trustRoots),
    socket: moved(made.socket, paths.socket),
    credentials: moved(made.credentials, paths.credentials),
    tokenVariables: made.tokenVariables.map((one) => ({ ...one, value: `${token.path}/${token.file}` })),
  };
}

/** Who reads the identity: the Linkerd proxy, a sidecar of the administrator's, or the application itself. */
export type Reader = 'linkerd' | 'sidecar' | 'application';

/** Who that is for one Pod. */
export function readerOf({ signet }: Values, alone: boolean): Reader {
  if (alone) return 'application';
  return signet.sidecar.image === '' ? 'linkerd' : 'sidecar';
}

/** Every volume that an identity can bring into a Pod without a proxy: by these the API server sees that it is there. */
export function identityVolumes(values: Values): readonly string[] {
  // Of every layout: values can be loaded anew, and the registration cannot follow by itself.
  const spots = Object.values(layouts).flatMap((layout) => {
    const { keys, token, socket, credentials } = layout(values);
    return [keys, token, socket, credentials];
  });
  return [...new Set(spots.map(({ volume }) => volume))];
}
