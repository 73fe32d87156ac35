/** What a service does at each collection: settle, then view. */
import type { Cluster } from '../../src/cluster/cluster.ts';
import type { Moment } from '../../src/cluster/moment.ts';
import type { ClusterView } from '../../src/cluster/observation.ts';
import type { Steps } from '../../src/cluster/steps.ts';
import { atOnce } from './at-once.ts';

/** What comes of it. */
export type Collected = ClusterView & { readonly forgotten: readonly string[] };

type Collectable = Pick<Cluster, 'settle' | 'view'>;

export function* collection(cluster: Collectable, now: () => Moment): Steps<Collected> {
  const forgotten = yield* cluster.settle(now);
  return { forgotten, ...(yield* cluster.view(now)) };
}

/** At once, after all the time until then was listened to. */
export function collectAt(cluster: Collectable, nowMs: number): Collected {
  return atOnce(collection(cluster, () => ({ wallMs: nowMs, listenedMs: nowMs })));
}
