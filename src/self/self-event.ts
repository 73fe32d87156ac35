/**
 * Everything that can happen to the bridge itself, as typed facts. Log lines and self metrics are both derived from them, so
 * the two cannot drift. Names and reasons are raw: only the log escapes them. It imports nothing.
 */

/** How an attempt to use a broker ended; mirrors `SessionEnd` of the transports. */
export type SessionEndKind = 'stopped' | 'finished' | 'unreachable' | 'refused' | 'unusable' | 'lost';

/** `deliver`: processing a message; `between`: between two broker sessions; `look`: a periodic check. */
export type DefectPlace =
  | 'transport'
  | 'deliver'
  | 'between'
  | 'look'
  | 'export'
  | 'attached_provider'
  | 'stop';

export type SelfEvent =
  | {
      readonly kind: 'broker-connected';
      readonly service: string;
      readonly broker: string;
      /** The exchange whose events arrive; a recording has none. */
      readonly exchange?: string;
      readonly attempts: number;
    }
  /** The exchange did not exist, so nobody can have published to it. */
  | {
      readonly kind: 'exchange-made';
      readonly service: string;
      readonly broker: string;
      readonly exchange: string;
    }
  | {
      readonly kind: 'broker-session-ended';
      readonly service: string;
      readonly broker: string;
      readonly end: SessionEndKind;
      readonly reason: string;
      /** ms until the next attempt, 0 for at once; undefined when there will be none. */
      readonly retryInMs: number | undefined;
    }
  /** A message, or an event in it, was dropped. `intentional`: by design, not a loss. */
  | {
      readonly kind: 'input-dropped';
      readonly service: string;
      readonly reason: string;
      readonly intentional: boolean;
      readonly detail: string;
    }
  /** A field of an event has an implausible value and was ignored; the event is counted. */
  | {
      readonly kind: 'field-implausible';
      readonly service: string;
      /** One of a closed list. */
      readonly field: string;
      readonly detail: string;
    }
  /** A full table evicted entries that were still needed. */
  | {
      readonly kind: 'table-evicted';
      readonly service: string;
      readonly table: 'tasks' | 'workers' | 'reordering_window' | 'clock_skews' | 'fixed_bounds';
      readonly count: number;
    }
  /** A metric reached its cardinality limit since the last collection. */
  | {
      readonly kind: 'series-overflowed';
      readonly service: string;
      readonly metric: string;
      /** Maximum number of points. */
      readonly limit: number;
      /** Of this metric of this service. */
      readonly isFirst: boolean;
    }
  /** A waiting time was negative, because the clocks of two hosts differ. */
  | {
      readonly kind: 'clock-skewed';
      readonly service: string;
      readonly senderHost: string;
      readonly workerHost: string;
    }
  /** A task that was counted as lost ended after all. */
  | {
      readonly kind: 'loss-refuted';
      readonly service: string;
      readonly task: string;
      readonly worker: string;
    }
  | {
      readonly kind: 'export-finished';
      readonly service: string;
      /** Where to and how, without secrets. */
      readonly backend: string;
      /** `partial`: the backend rejected some points for good. */
      readonly outcome: 'success' | 'partial' | 'failure';
      readonly durationMs: number;
      /** Points that arrived, including rejected ones. */
      readonly points: number;
      readonly rejectedPoints: number;
      readonly reason: string;
    }
  /** Connected, but no event has arrived for `forMs`. */
  | {
      readonly kind: 'nothing-heard';
      readonly service: string;
      readonly exchange: string;
      readonly forMs: number;
      /** Messages that arrived without a readable event. */
      readonly unread: number;
    }
  /** Events arrive again after `afterMs`. */
  | { readonly kind: 'heard-again'; readonly service: string; readonly afterMs: number }
  /** Workers run tasks, according to their heartbeats, but send no task events. */
  | {
      readonly kind: 'task-events-missing';
      readonly service: string;
      /** Some of them. */
      readonly workers: readonly string[];
      /** How many more there are. */
      readonly more: number;
    }
  /** No such worker is left. */
  | { readonly kind: 'task-events-again'; readonly service: string }
  /** The clock of this machine was set, back where it is negative; or the machine was suspended. */
  | { readonly kind: 'clock-stepped'; readonly service: string; readonly byMs: number }
  /** The first successful export after failures. */
  | {
      readonly kind: 'exports-recovered';
      readonly service: string;
      readonly backend: string;
      readonly failures: number;
      readonly afterMs: number;
    }
  /** A successful export took longer than the interval, so that others were skipped. */
  | {
      readonly kind: 'export-late';
      readonly service: string;
      readonly durationMs: number;
      /** The part of it spent waiting for the backend. */
      readonly waitedMs: number;
      readonly intervalMs: number;
    }
  | { readonly kind: 'service-started'; readonly service: string; readonly brokers: readonly string[] }
  | { readonly kind: 'service-stopping'; readonly service: string }
  | {
      readonly kind: 'service-stopped';
      readonly service: string;
      /**
       * `flushed`: everything counted was exported; `empty`: there was nothing to export. `rejected`: the backend rejected
       * points of the last export for good. `unsent`: the last export did not arrive; `unheard`: none ever did.
       * `handed-over`: the metrics are in the attached MeterProvider.
       */
      readonly metrics: 'flushed' | 'empty' | 'rejected' | 'unsent' | 'unheard' | 'handed-over';
    }
  /** The npm script that started the process is gone, so it stops. */
  | { readonly kind: 'starter-gone'; readonly service: string }
  /** An unexpected error was caught at a boundary: the current operation failed, the rest goes on. */
  | {
      readonly kind: 'defect';
      readonly service: string;
      readonly where: DefectPlace;
      readonly reason: string;
    };

/** Takes a self event; must not throw. */
export type Tell = (event: SelfEvent) => void;
