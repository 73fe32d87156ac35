/**
 * Everything that may happen to the bridge itself, as typed facts. Log lines and own metrics are both made from these
 * fields, so the two cannot drift. Names and reasons are as they came: only a log makes them fit to be shown. A leaf: it
 * imports nothing.
 */

/** How an attempt to use a broker ended; mirrors `SessionEnd` of the transports. */
export type SessionEndKind = 'stopped' | 'finished' | 'unreachable' | 'refused' | 'unusable' | 'lost';

/** `deliver`: what is done with a message; `between`: with what is left after a session; `look`: what is looked for now and then. */
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
      /** Whose events arrive; a recording has none. */
      readonly exchange?: string;
      readonly attempts: number;
    }
  /** It was not there, so nobody can have published to it. */
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
  /** A message or an event in it that was not counted. `intentional`: as designed, no loss. */
  | {
      readonly kind: 'input-dropped';
      readonly service: string;
      readonly reason: string;
      readonly intentional: boolean;
      readonly detail: string;
    }
  /** A field of an event that is counted holds what it cannot, and is taken as not told. */
  | {
      readonly kind: 'field-implausible';
      readonly service: string;
      /** One of a closed list. */
      readonly field: string;
      readonly detail: string;
    }
  /** A full table had to forget entries that were still needed. */
  | {
      readonly kind: 'table-evicted';
      readonly service: string;
      readonly table: 'tasks' | 'workers' | 'reordering_window' | 'clock_skews' | 'fixed_bounds';
      readonly count: number;
    }
  /** A metric has no place for all that was measured since the last collection. */
  | {
      readonly kind: 'series-overflowed';
      readonly service: string;
      readonly metric: string;
      /** Points at most. */
      readonly limit: number;
      /** Of this metric of this service. */
      readonly isFirst: boolean;
    }
  /** A wait came out negative, because the clocks of two hosts differ. */
  | {
      readonly kind: 'clock-skewed';
      readonly service: string;
      readonly senderHost: string;
      readonly workerHost: string;
    }
  /** A task that was counted as lost has ended after all. */
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
      /** `partial`: the backend took it but for some points that it will never take. */
      readonly outcome: 'success' | 'partial' | 'failure';
      readonly durationMs: number;
      /** That arrived, those that were rejected included. */
      readonly points: number;
      readonly rejectedPoints: number;
      readonly reason: string;
    }
  /** It is connected, and no event has come for so long. */
  | {
      readonly kind: 'nothing-heard';
      readonly service: string;
      readonly exchange: string;
      readonly forMs: number;
      /** So many messages have, and nothing in them could be read. */
      readonly unread: number;
    }
  /** After so long without. */
  | { readonly kind: 'heard-again'; readonly service: string; readonly afterMs: number }
  /** Workers run tasks, as their heartbeats tell, and not one task event of theirs comes. */
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
  /** The first export that arrived after some that failed. */
  | {
      readonly kind: 'exports-recovered';
      readonly service: string;
      readonly backend: string;
      readonly failures: number;
      readonly afterMs: number;
    }
  /** An export that arrived took longer than the interval, so that some were left out. */
  | {
      readonly kind: 'export-late';
      readonly service: string;
      readonly durationMs: number;
      /** Of that, for answers of the backend. */
      readonly waitedMs: number;
      readonly intervalMs: number;
    }
  | { readonly kind: 'service-started'; readonly service: string; readonly brokers: readonly string[] }
  | { readonly kind: 'service-stopping'; readonly service: string }
  | {
      readonly kind: 'service-stopped';
      readonly service: string;
      /**
       * `flushed`: all that was counted is exported, and `empty`: there was nothing. `rejected`: the backend rejected
       * points of the last export for good. `unsent`: the last export has not arrived, and `unheard`: none ever has.
       * `handed-over`: the provider has it which the service is attached to.
       */
      readonly metrics: 'flushed' | 'empty' | 'rejected' | 'unsent' | 'unheard' | 'handed-over';
    }
  /** Whoever started the process ended without a word, so it stops. */
  | { readonly kind: 'starter-gone'; readonly service: string }
  /** An error that nobody foresaw was caught at a boundary: it costs what was being done, the rest goes on. */
  | {
      readonly kind: 'defect';
      readonly service: string;
      readonly where: DefectPlace;
      readonly reason: string;
    };

/** Takes a self event; must not throw. */
export type Tell = (event: SelfEvent) => void;
