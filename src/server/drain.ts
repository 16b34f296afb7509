/** The steps of going away without losing a request. */
export interface Drain {
  readonly becomeUnready: () => void;
  /** How long it takes until no new connection is sent here: the endpoints must be taken out first. */
  readonly settleMs: number;
  readonly close: () => Promise<void>;
  /** When to stop waiting for what is in flight. */
  readonly deadlineMs: number;
  readonly wait: (ms: number) => Promise<void>;
}

/** Not ready, then wait until nobody comes any more, then finish what is in flight; true when all of it was. */
export async function drain({ becomeUnready, settleMs, close, deadlineMs, wait }: Drain): Promise<boolean> {
  becomeUnready();
  await wait(settleMs);
  return Promise.race([close().then(() => true), wait(deadlineMs).then(() => false)]);
}
