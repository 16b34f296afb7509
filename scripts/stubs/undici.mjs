// In the place of undici in the bundle. client-node's KubeConfig names it for clients that we do not use (we send requests over node:https),
// and loading it costs a sixth of the start of `signet serve`.
const absent = () => {
  throw new Error('undici is not part of this bundle');
};
export class Agent {
  constructor() {
    absent();
  }
}
export class ProxyAgent extends Agent {}
export const fetch = absent;
