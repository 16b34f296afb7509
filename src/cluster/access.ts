import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { Access } from './api.js';

/** Finds the cluster: by a kubeconfig file if one is named, else from inside of a Pod, else as kubectl does. */
export function accessFrom(kubeconfig: string | undefined): Access {
  const config = new KubeConfig();
  if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
  else if (process.env.KUBERNETES_SERVICE_HOST) config.loadFromCluster();
  else config.loadFromDefault();
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig names no current cluster');
  // What client-node takes for granted where it finds nothing; no API server has listened there for years.
  if (cluster.server === 'http://localhost:8080')
    throw new Error(
      'there is no kubeconfig: none is named by --kubeconfig or KUBECONFIG, and there is no ~/.kube/config',
    );
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  return {
    server: cluster.server,
    ...(namespace === undefined ? {} : { namespace }),
    apply: (options) => config.applyToHTTPSOptions(options),
  };
}
