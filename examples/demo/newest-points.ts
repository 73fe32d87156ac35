/**
 * Puts the exports of each service together from the requests that they come in, and says what the newest of them hold.
 * Pure. It knows of a sender only that it sends the requests of one export one after the other, all but the last full.
 */
import type { Point } from './otlp-points.ts';

export interface NewestPoints {
  /** @param bytes of the request that held them */
  take(points: readonly Point[], bytes: number): void;
  /**
   * The points of the newest export. While more of it may come, also those of the one before whose series it does not have
   * yet: so no series is missing because it is still on its way, and none is there that a whole export does not have.
   */
  of(serviceName: string): readonly Point[];
  /** Those of which anything came. */
  services(): readonly string[];
}

/** celery-otel puts no more into a request … */
const POINTS_MAX = 1000;
/**
 * … and none that makes it larger than 3.5 MiB, as it reckons beforehand; for a point that is larger than any it may be a
 * little less. It errs upwards, but by no more than this: all texts are of characters that become six in JSON, every point
 * has a frame, and an exponential histogram has all its buckets. To take the last of an export for one that is not does
 * no harm.
 */
const RECKONED_FULL = 3.25 * 1024 * 1024;
const RECKONED_PER_BYTE = 6;
const RECKONED_FRAME = 400;
const RECKONED_EXPONENTIAL = 5000;

/** Points by their series. */
type Series = ReadonlyMap<string, Point>;

interface Exports {
  /** The last one that was whole. */
  readonly before: Series;
  readonly newest: Series;
  /** More of the newest one may come. */
  readonly isOpen: boolean;
}

const NONE: Exports = { before: new Map(), newest: new Map(), isOpen: false };

export function createNewestPoints(): NewestPoints {
  const services = new Map<string, Exports>();
  return {
    take(points, bytes) {
      // Whoever puts more into one has no such limit.
      const isFull =
        points.length === POINTS_MAX ||
        (points.length < POINTS_MAX && reckonedAtMost(points, bytes) >= RECKONED_FULL);
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

/** What the sender has reckoned for a request with these points, at most. */
function reckonedAtMost(points: readonly Point[], bytes: number): number {
  const frames = points.map(({ kind }) =>
    kind === 'exponentialHistogram' ? RECKONED_EXPONENTIAL : RECKONED_FRAME,
  );
  return frames.reduce((sum, each) => sum + each, RECKONED_PER_BYTE * bytes);
}

function next({ before, newest, isOpen }: Exports, points: readonly Point[], isFull: boolean): Exports {
  const series = new Map(points.map((point) => [seriesOf(point), point]));
  const known = [...series].flatMap(([key, { timeMs }]) => {
    const old = newest.get(key);
    return old === undefined ? [] : [timeMs - old.timeMs];
  });
  // A series is in an export once. One of the same time is a request that was sent again.
  const isNewer = known.some((laterMs) => laterMs > 0);
  const isAgain = !isNewer && known.length > 0;
  return isNewer || !(isOpen || isAgain)
    ? { before: newest, newest: series, isOpen: isFull }
    : { before, newest: new Map([...newest, ...series]), isOpen: isFull };
}

function seriesOf({ scope, metric, attributes }: Point): string {
  return `${scope}\n${metric}\n${JSON.stringify(attributes)}`;
}
