/** What time it is for a cluster: for ages, and for silence. Types only; nobody here looks at a clock. */

export interface Moment {
  /** Epoch ms, to be compared with what others stamped; it stands still while nothing can be heard. */
  readonly wallMs: number;
  /**
   * For how long the service has listened, ms. Monotonic. It does not advance while the broker is away or the process is
   * held up: silence says nothing then.
   */
  readonly listenedMs: number;
}
