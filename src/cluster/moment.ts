/** The current time of a cluster, by two clocks: one for ages, the other for silence. Types only. */

export interface Moment {
  /** Epoch ms, comparable with the timestamps of events. It stops while there is no connection to the broker. */
  readonly wallMs: number;
  /**
   * Listened time, ms: the total time during which events could arrive. It never goes back, and stops while the broker is
   * unavailable or our process is stalled, when the silence of a worker proves nothing.
   */
  readonly listenedMs: number;
}
