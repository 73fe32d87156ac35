/** What carries an encoded request to a backend and brings back what became of it, whatever the protocol. Types only. */

import type { Symptom } from './likely-cause.ts';
import type { Encoding } from './signal.ts';

export interface ExporterTransport {
  /** One attempt, without a retry. Rejects only where a request cannot be made at all; ends within the time-out. */
  send(body: Uint8Array): Promise<Answer>;
  /** Closes all connections; what is under way ends as unavailable, and so does what is sent later. */
  close(): void;
}

export type Answer = Taken | Failure;

/** The backend has the request, but perhaps for some points of which its response tells. */
export interface Taken {
  readonly kind: 'taken';
  readonly response: Uint8Array;
  /** Of the response; undefined where it is neither. */
  readonly encoding: Encoding | undefined;
}

export interface Failure {
  readonly kind: 'unavailable' | 'refused';
  /** As it came: of any length, and with whatever a backend may have put there. */
  readonly reason: string;
  /** By which the likely cause is found. */
  readonly symptom?: Symptom;
  /** What the metrics of exporters are to know it by. */
  readonly error: Error;
  /** How long the backend asks not to be sent anything, ms. */
  readonly retryAfterMs?: number | undefined;
}
