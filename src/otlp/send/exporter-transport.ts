/** Sends an encoded request to a backend and returns the answer, whatever the protocol. Types only. */

import type { Symptom } from './likely-cause.ts';
import type { Encoding } from './signal.ts';

export interface ExporterTransport {
  /** One attempt, without retries, within the timeout. Rejects only if the request could not be created. */
  send(body: Uint8Array): Promise<Answer>;
  /** Closes all connections. Requests in progress and later ones end as unavailable. */
  close(): void;
}

export type Answer = Taken | Failure;

/** The backend accepted the request, perhaps in part: the response says so. */
export interface Taken {
  readonly kind: 'taken';
  readonly response: Uint8Array;
  /** Of the response; undefined if it is something else. */
  readonly encoding: Encoding | undefined;
}

export interface Failure {
  readonly kind: 'unavailable' | 'refused';
  /** As received: of any length, and with any characters. */
  readonly reason: string;
  /** From which the likely cause is derived. */
  readonly symptom?: Symptom;
  /** For the SDK’s exporter metrics. */
  readonly error: Error;
  /** How long the backend asks not to be sent anything, ms. */
  readonly retryAfterMs?: number | undefined;
}
