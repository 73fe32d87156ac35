/**
 * Polls a broker’s queues regularly while a session is open. It owns the schedule; the transport owns the protocol. A
 * reading is valid until the next poll ends: if that fails, there is no current reading.
 */
import { reasonOf } from '../../text/errors.ts';
import { pause } from '../../timing/pause.ts';
import { ENDING_MS, type Rhythm, repeat } from '../../timing/rhythm.ts';
import type { Session } from '../broker.ts';
import type { BrokerReading, PollQuestion } from '../broker-reading.ts';

/** A poll without a reply for this long has failed. */
const POLL_TIMEOUT_MS = 10_000;

export interface PollResult {
  /** `partial`: some replies are missing. */
  readonly outcome: 'success' | 'partial' | 'failure';
  /** Why the result is incomplete; '' on success. */
  readonly reason: string;
}

export interface BrokerPollOptions extends Rhythm {
  readonly question: () => PollQuestion;
  /**
   * Called after each poll, and with undefined when there is no current reading.
   * @param beganUpMs when the poll began, monotonic ms: its results are not older
   */
  readonly onReading: (reading: BrokerReading | undefined, beganUpMs: number) => void;
  readonly onResult: (result: PollResult) => void;
}

/** Starts polling, one poll at a time. @returns a function that stops it and withdraws the reading at once, even during a poll */
export function startBrokerPolls(session: Session, options: BrokerPollOptions): () => void {
  const ending = new AbortController();
  const poll = session.poll?.bind(session);
  if (poll !== undefined) void repeat(options, () => pollOnce(poll, options, ending.signal), ending.signal);
  return () => {
    ending.abort();
    options.onReading(undefined, performance.now());
  };
}

type Poll = NonNullable<Session['poll']>;

/** Resolves when the poll has ended completely. A poll that ignores its abort is reported as failed after each timeout. */
async function pollOnce(
  poll: Poll,
  { question, onReading, onResult }: BrokerPollOptions,
  ending: AbortSignal,
): Promise<void> {
  const giveUp = new AbortController();
  const beganUpMs = performance.now();
  const fail = (reason: string): void => {
    if (ending.aborted) return;
    onReading(undefined, beganUpMs);
    onResult({ outcome: 'failure', reason });
  };
  const deadline = setInterval(() => {
    giveUp.abort();
    fail(`no reply within ${POLL_TIMEOUT_MS} ms`);
  }, POLL_TIMEOUT_MS);
  ending.addEventListener('abort', () => clearInterval(deadline), { once: true });
  try {
    const reading = await poll(question(), AbortSignal.any([ending, giveUp.signal]));
    if (ending.aborted || giveUp.signal.aborted) return;
    onReading(reading, beganUpMs);
    const reason = reading.incomplete.join('; ');
    onResult({ outcome: reason === '' ? 'success' : 'partial', reason });
  } catch (error) {
    clearInterval(deadline);
    if (giveUp.signal.aborted) return;
    // If the session is ending, this is not a failure.
    await pause(ENDING_MS, ending);
    fail(reasonOf(error));
  } finally {
    clearInterval(deadline);
  }
}
