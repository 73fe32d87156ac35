/**
 * Adds likely causes to the failures of polls and remote control, and removes secrets. Both use separate connections, whose
 * failures are not explained elsewhere. It changes nothing else in a session.
 */
import { reasonOf } from '../../text/errors.ts';
import type { PeerText } from '../../text/peer-text.ts';
import type { Session } from '../broker.ts';
import type { BrokerReading } from '../broker-reading.ts';
import type { BrokerUrl } from '../broker-url.ts';
import { explained } from '../likely-cause.ts';

export function explainedSession(session: Session, url: BrokerUrl, peerText: PeerText): Session {
  const explain = (error: unknown): never => {
    const reason = reasonOf(error);
    const text = explained(reason, url, true, peerText);
    throw text === reason ? error : new Error(text, { cause: error });
  };
  const shown = (reading: BrokerReading): BrokerReading =>
    reading.incomplete.length === 0 ? reading : { ...reading, incomplete: reading.incomplete.map(peerText) };
  const { exchange } = session;
  const [poll, ask] = [session.poll?.bind(session), session.ask?.bind(session)];
  const [listeners, instances] = [session.listeners?.bind(session), session.instances?.bind(session)];
  const elsewhere = session.elsewhere?.bind(session);
  return {
    exchange,
    receive: (deliver) => session.receive(deliver),
    ...(poll && { poll: (question, signal) => poll(question, signal).then(shown, explain) }),
    ...(ask && { ask: (question, signal) => ask(question, signal).catch(explain) }),
    ...(listeners && { listeners }),
    ...(instances && { instances }),
    ...(elsewhere && { elsewhere }),
  };
}
