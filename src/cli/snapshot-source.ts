/**
 * Fetches the status documents repeatedly, from any source. While the source is unreachable, it keeps the last ones and backs off. It
 * shows nothing.
 */
import { reasonOf } from '../text/errors.ts';
import { printable } from '../text/printable.ts';
import type { ServiceDetails, Snapshot, StatusSnapshot, Unreachable } from '../view/snapshot.ts';

/** The source of the documents. */
export interface Documents {
  /** Rejects if celery-otel cannot be reached. */
  status(): Promise<StatusSnapshot>;
  /** Of the service at that index; undefined if there is none. Rejects like `status`. */
  service(index: number): Promise<ServiceDetails | undefined>;
  /** What to do if celery-otel cannot be reached. */
  readonly remedy: string;
}

const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 15_000;
/** Large documents are fetched less often: they take at most a twentieth of the time. */
const DETAILS_SHARE = 20;
/** Of services whose details are kept. */
const DETAILS_MAX = 100;

export class SnapshotSource {
  readonly #documents: Documents;
  #status: StatusSnapshot | undefined;
  readonly #details = new Map<number, ServiceDetails>();
  readonly #dueMs = new Map<number, number>();
  #unreachable: Unreachable | undefined;
  #retryMs = RETRY_MS_MIN;
  #nextMs = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> | undefined;

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  get snapshot(): Snapshot {
    return { status: this.#status, details: new Map(this.#details), unreachable: this.#unreachable };
  }

  /**
   * Fetches now, unless the last attempt has just failed. Never rejects.
   * @param wanted the index of the service whose details are wanted
   */
  async look(wanted: number | 'all'): Promise<Snapshot> {
    this.#underWay ??= this.#look(wanted).finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
    return this.snapshot;
  }

  async #look(wanted: number | 'all'): Promise<void> {
    if (performance.now() < this.#nextMs) return;
    try {
      const status = await this.#documents.status();
      this.#status = status;
      const all = Math.min(status.services.length, DETAILS_MAX);
      const places = wanted === 'all' ? Array.from({ length: all }, (_, place) => place) : [wanted];
      for (const place of places) await this.#lookAt(place);
      this.#unreachable = undefined;
      this.#retryMs = RETRY_MS_MIN;
    } catch (error) {
      const since = this.#unreachable?.since ?? new Date();
      this.#unreachable = { since, reason: printable(reasonOf(error)), remedy: this.#documents.remedy };
      this.#nextMs = performance.now() + this.#retryMs;
      this.#retryMs = Math.min(RETRY_MS_MAX, 2 * this.#retryMs);
    }
  }

  async #lookAt(place: number): Promise<void> {
    const beganMs = performance.now();
    if (beganMs < (this.#dueMs.get(place) ?? 0)) return;
    const details = await this.#documents.service(place);
    if (details === undefined) this.#details.delete(place);
    else this.#details.set(place, details);
    const now = performance.now();
    this.#dueMs.set(place, now + DETAILS_SHARE * (now - beganMs));
  }
}
