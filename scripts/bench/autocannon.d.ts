/** As much of autocannon as the bench uses; the package has no types of its own. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration?: number;
    readonly amount?: number;
    readonly overallRate?: number;
    readonly method: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly setupClient?: (client: {
      readonly setRequests: (requests: readonly { readonly body: string }[]) => void;
    }) => void;
  }

  interface Result {
    readonly requests: { readonly total: number };
    readonly duration: number;
    readonly latency: { readonly p99: number };
    readonly errors: number;
    readonly non2xx: number;
    readonly '2xx': number;
  }

  export default function autocannon(options: Options): Promise<Result>;
}
