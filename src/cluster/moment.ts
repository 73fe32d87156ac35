/** The current time of a cluster, for ages and for silence. Types only. */

export interface Moment {
  /** Epoch ms, comparable with the timestamps of events; it stops while disconnected. */
  readonly wallMs: number;
  /**
   * Listened time, ms: for how long events could arrive. Monotonic. It stops while the broker is unavailable or the process
   * is stalled, when silence proves nothing.
   */
  readonly listenedMs: number;
}
