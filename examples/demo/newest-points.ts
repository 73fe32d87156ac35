/**
 * Assembles the exports of each service from their requests, and returns the points of the newest one. Pure. It assumes only
 * that a sender sends the requests of an export one after the other, all but the last one full.
 */
import type { Point } from './otlp-points.ts';

export interface NewestPoints {
  /** @param bytes the size of their request */
  take(points: readonly Point[], bytes: number): void;
  /**
   * The points of the newest export. While it is incomplete, series that it does not have yet are taken from the one before:
   * so no series is missing only because its request has not arrived.
   */
  of(serviceName: string): readonly Point[];
  /** The services that have sent points. */
  services(): readonly string[];
}

/** celery-otel puts at most this many points into a request … */
const POINTS_MAX = 1000;
/**
 * … and at most an estimated 3.5 MiB, or a little less before a very large point. It overestimates by at most this: all
 * characters become six in JSON, every point has a frame, and an exponential histogram has all its buckets. To take the last
 * request of an export for a full one does no harm.
 */
const ESTIMATED_FULL = 3.25 * 1024 * 1024;
const ESTIMATED_PER_BYTE = 6;
const ESTIMATED_FRAME = 400;
const ESTIMATED_EXPONENTIAL = 5000;

/** Points by their series. */
type Series = ReadonlyMap<string, Point>;

interface Exports {
  /** The last complete one. */
  readonly before: Series;
  readonly newest: Series;
  /** More requests of the newest one may follow. */
  readonly isOpen: boolean;
}

const NONE: Exports = { before: new Map(), newest: new Map(), isOpen: false };

export function createNewestPoints(): NewestPoints {
  const services = new Map<string, Exports>();
  return {
    take(points, bytes) {
      // A sender that puts more points into a request has no such limit.
      const isFull =
        points.length === POINTS_MAX ||
        (points.length < POINTS_MAX && estimatedAtMost(points, bytes) >= ESTIMATED_FULL);
      const byService = Map.groupBy(points, ({ resource }) => resource['service.name'] ?? '');
      for (const [name, own] of byService) services.set(name, next(services.get(name) ?? NONE, own, isFull));
    },
    of(serviceName) {
      const { before, newest, isOpen } = services.get(serviceName) ?? NONE;
      return [...(isOpen ? new Map([...before, ...newest]) : newest).values()];
    },
    services: () => [...services.keys()],
  };
}

/** The most that the sender has estimated for a request with these points. */
function estimatedAtMost(points: readonly Point[], bytes: number): number {
  const frames = points.map(({ kind }) =>
    kind === 'exponentialHistogram' ? ESTIMATED_EXPONENTIAL : ESTIMATED_FRAME,
  );
  return frames.reduce((sum, each) => sum + each, ESTIMATED_PER_BYTE * bytes);
}

function next({ before, newest, isOpen }: Exports, points: readonly Point[], isFull: boolean): Exports {
  const series = new Map(points.map((point) => [seriesOf(point), point]));
  const known = [...series].flatMap(([key, { timeMs }]) => {
    const old = newest.get(key);
    return old === undefined ? [] : [timeMs - old.timeMs];
  });
  // A series is in an export only once. The same series with the same time is a retried request.
  const isNewer = known.some((laterMs) => laterMs > 0);
  const isRetry = !isNewer && known.length > 0;
  return isNewer || !(isOpen || isRetry)
    ? { before: newest, newest: series, isOpen: isFull }
    : { before, newest: new Map([...newest, ...series]), isOpen: isFull };
}

function seriesOf({ scope, metric, attributes }: Point): string {
  return `${scope}\n${metric}\n${JSON.stringify(attributes)}`;
}
