import type { Admission } from '../admission/admit.js';
import type { JsonObject } from '../json.js';

/** An Event to write about the owner of a Pod. */
export interface EventDraft {
  readonly namespace: string;
  readonly reason: 'Injected' | 'InjectionSkipped';
  readonly message: string;
  readonly about: JsonObject;
}

export interface Recording {
  readonly write: (draft: EventDraft) => Promise<void>;
  readonly now: () => number;
  readonly onTrouble: (message: string) => void;
}

/** The same is said of the same owner once in so long. */
const quietMs = 10 * 60_000;
/** Events that wait to be written; more are dropped, because a storm of Pods must not become a storm of Events. */
const mostWaiting = 200;
const mostRemembered = 10_000;
/** At most so many are under way to the API server. */
const mostUnderWay = 2;
/** At most so many are taken note of in a second, whoever asks: a stranger can name as many owners as he likes. */
const mostPerSecond = 10;

/** Writes Events about what was decided, off the hot path: deduplicated, bounded, never waited for. */
export class EventRecorder {
  readonly #recording: Recording;
  readonly #waiting: EventDraft[] = [];
  readonly #said = new Map<string, number>();
  #underWay = 0;
  #second = 0;
  #inSecond = 0;

  constructor(recording: Recording) {
    this.#recording = recording;
  }

  /** Takes note of a decision. Pods that never asked are nobody's news, and a Pod without an owner has nobody to tell. */
  decided(namespace: string, { outcome, reason, about: { askedBy, holder, message } }: Admission): void {
    if (askedBy === undefined || reason === 'already_injected' || holder === undefined) return;
    const draft: EventDraft = {
      namespace,
      reason: outcome === 'injected' ? 'Injected' : 'InjectionSkipped',
      message: outcome === 'injected' ? 'identity and proxy injected' : `not injected: ${message} [${reason}]`,
      about: holder,
    };
    if (this.#waiting.length >= mostWaiting || this.#wasSaid(`${String(holder.uid)} ${draft.reason} ${reason}`)) return;
    this.#waiting.push(draft);
    this.#pump();
  }

  #wasSaid(key: string): boolean {
    const now = this.#recording.now();
    const last = this.#said.get(key);
    if (last !== undefined && now - last < quietMs) return true;
    if (now - this.#second >= 1000) {
      this.#second = now;
      this.#inSecond = 0;
    }
    if (++this.#inSecond > mostPerSecond) return true;
    if (this.#said.size >= mostRemembered) this.#said.clear();
    this.#said.set(key, now);
    return false;
  }

  #pump(): void {
    while (this.#underWay < mostUnderWay) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#underWay++;
      this.#recording
        .write(next)
        .catch((error: unknown) =>
          this.#recording.onTrouble(`events: ${error instanceof Error ? error.message : String(error)}`),
        )
        .finally(() => {
          this.#underWay--;
          this.#pump();
        });
    }
  }
}
