/**
 * Settles the cluster of a service (applies what follows from the passage of time), views it, and reports evictions
 * from its tables. It records no metrics.
 */
import type { Cluster } from '../cluster/cluster.ts';
import type { Moment } from '../cluster/moment.ts';
import type { ClusterView } from '../cluster/observation.ts';
import type { EventSink } from '../self/self-event.ts';
import { runCooperatively, type YieldToLoop } from '../timing/cooperative.ts';

export interface ClusterViewOptions {
  /** The name of the service. */
  readonly name: string;
  /** Ends the series of workers that were forgotten. */
  readonly retire: (workers: readonly string[]) => void;
  readonly report: EventSink;
  /** Awaited between the steps of long work. */
  readonly yieldToLoop: YieldToLoop;
}

/** @returns a function that settles, then views; concurrent calls share one view */
export function clusterViews(
  { name, retire, report, yieldToLoop }: ClusterViewOptions,
  cluster: Cluster,
  now: () => Moment,
): () => Promise<ClusterView> {
  const reportEvictions = evictionReporter(name, report);
  let underWay: Promise<ClusterView> | undefined;
  async function settledView(): Promise<ClusterView> {
    try {
      const forgotten = await runCooperatively(yieldToLoop, cluster.settle(now));
      reportEvictions(cluster);
      if (forgotten.length > 0) retire(forgotten);
      return await runCooperatively(yieldToLoop, cluster.view(now));
    } finally {
      underWay = undefined;
    }
  }
  // The MeterProvider of another program may have several readers, which collect concurrently.
  return (): Promise<ClusterView> => {
    underWay ??= settledView();
    return underWay;
  };
}

/** Reports evictions as one sum per table and collection: in a flood, each event may evict an entry. */
function evictionReporter(service: string, report: EventSink): (cluster: Cluster) => void {
  const reported = new Map<string, number>();
  return (cluster) => {
    const { tasks, workers, reordering_window, clock_skews } = cluster.tables();
    const evictions = [
      ['tasks', tasks.evicted],
      ['workers', workers.evicted],
      ['reordering_window', reordering_window.evicted],
      ['clock_skews', clock_skews.evicted],
      ['fixed_bounds', cluster.beyondFixedBounds()],
    ] as const;
    for (const [table, evicted] of evictions) {
      const count = evicted - (reported.get(table) ?? 0);
      if (count > 0) report({ kind: 'table-evicted', service, table, count });
      reported.set(table, evicted);
    }
  };
}
