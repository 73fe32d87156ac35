/**
 * Looks at the documents of a status again and again, wherever they come from: keeps the last ones while nobody answers, and asks more
 * and more rarely then. It shows nothing.
 */
import { reasonOf } from '../text/errors.ts';
import { printable } from '../text/printable.ts';
import { readDetails, readStatus } from '../top/reading.ts';
import type { Away, Seen, ShownDetails, ShownStatus } from '../top/seen.ts';

/** Where the documents come from. */
export interface Texts {
  /** May reject: nobody answers. */
  status(): Promise<string>;
  /** Of the service at that place; undefined if there is none. May reject, too. */
  service(place: number): Promise<string | undefined>;
  /** What to do if nobody answers. */
  readonly remedy: string;
}

const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 15_000;
/** Large documents come less often: they take at most a twentieth of the time. */
const DETAILS_SHARE = 20;
/** Of services whose details are kept. */
const DETAILS_MAX = 100;

export class SeenSource {
  readonly #texts: Texts;
  #status: ShownStatus | undefined;
  readonly #details = new Map<number, ShownDetails>();
  readonly #dueMs = new Map<number, number>();
  #away: Away | undefined;
  #retryMs = RETRY_MS_MIN;
  #nextMs = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> | undefined;

  constructor(texts: Texts) {
    this.#texts = texts;
  }

  get seen(): Seen {
    return { status: this.#status, details: new Map(this.#details), away: this.#away };
  }

  /**
   * Looks now, unless nobody answered a moment ago. Never rejects.
   * @param wanted the place of the service whose details are wanted
   */
  async look(wanted: number | 'all'): Promise<Seen> {
    this.#underWay ??= this.#look(wanted).finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
    return this.seen;
  }

  async #look(wanted: number | 'all'): Promise<void> {
    if (performance.now() < this.#nextMs) return;
    try {
      const status = readStatus(await this.#texts.status());
      if (status === undefined) throw new Error('what answers there is not celery-otel');
      this.#status = status;
      const all = Math.min(status.services.length, DETAILS_MAX);
      const places = wanted === 'all' ? Array.from({ length: all }, (_, place) => place) : [wanted];
      for (const place of places) await this.#lookAt(place);
      this.#away = undefined;
      this.#retryMs = RETRY_MS_MIN;
    } catch (error) {
      const since = this.#away?.since ?? new Date();
      this.#away = { since, reason: printable(reasonOf(error)), remedy: this.#texts.remedy };
      this.#nextMs = performance.now() + this.#retryMs;
      this.#retryMs = Math.min(RETRY_MS_MAX, 2 * this.#retryMs);
    }
  }

  async #lookAt(place: number): Promise<void> {
    const beganMs = performance.now();
    if (beganMs < (this.#dueMs.get(place) ?? 0)) return;
    const text = await this.#texts.service(place);
    const details = text === undefined ? undefined : readDetails(text);
    if (details === undefined) this.#details.delete(place);
    else this.#details.set(place, details);
    const now = performance.now();
    this.#dueMs.set(place, now + DETAILS_SHARE * (now - beganMs));
  }
}
