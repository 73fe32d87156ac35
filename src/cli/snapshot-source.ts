/**
 * Fetches the status documents repeatedly, from any source. While the source is unreachable, it keeps the last
 * documents and retries at growing intervals. It shows nothing.
 */
import { reasonOf } from '../text/errors.ts';
import { printable } from '../text/printable.ts';
import type { ServiceDetails, Snapshot, StatusSnapshot, Unreachable } from '../view/snapshot.ts';

/** Where the documents come from. */
export interface Documents {
  /** Rejects if celery-otel cannot be reached. */
  status(): Promise<StatusSnapshot>;
  /** The document of the service at that index; undefined if there is none. Rejects like `status`. */
  service(index: number): Promise<ServiceDetails | undefined>;
  /** What the user can do if celery-otel cannot be reached. */
  readonly remedy: string;
}

const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 15_000;
/**
 * Details are fetched again only after this many times as long as fetching took, so it takes at most a twentieth of the
 * time.
 */
const DETAILS_PAUSE_FACTOR = 20;
/** How many services have their details fetched for a report. */
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
    this.#underWay ??= this.#fetch(wanted).finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
    return this.snapshot;
  }

  async #fetch(wanted: number | 'all'): Promise<void> {
    if (performance.now() < this.#nextMs) return;
    try {
      const status = await this.#documents.status();
      this.#status = status;
      const all = Math.min(status.services.length, DETAILS_MAX);
      const places = wanted === 'all' ? Array.from({ length: all }, (_, place) => place) : [wanted];
      for (const place of places) await this.#fetchDetails(place);
      this.#unreachable = undefined;
      this.#retryMs = RETRY_MS_MIN;
    } catch (error) {
      const since = this.#unreachable?.since ?? new Date();
      this.#unreachable = { since, reason: printable(reasonOf(error)), remedy: this.#documents.remedy };
      this.#nextMs = performance.now() + this.#retryMs;
      this.#retryMs = Math.min(RETRY_MS_MAX, 2 * this.#retryMs);
    }
  }

  async #fetchDetails(place: number): Promise<void> {
    const beganMs = performance.now();
    if (beganMs < (this.#dueMs.get(place) ?? 0)) return;
    const details = await this.#documents.service(place);
    if (details === undefined) this.#details.delete(place);
    else this.#details.set(place, details);
    const now = performance.now();
    this.#dueMs.set(place, now + DETAILS_PAUSE_FACTOR * (now - beganMs));
  }
}
