/**
 * Finds the likely cause of a failed connection to a broker, and what to do; the source of log lines, `check` and
 * docs/troubleshooting.md. It decides nothing. Pure.
 */
import { advice } from '../text/connection-causes.ts';
import { shortened } from '../text/errors.ts';
import type { PeerText } from '../text/peer-text.ts';
import type { BrokerUrl } from './broker-url.ts';
import { KINDS, kindOf } from './kinds.ts';
import { COMMON_CAUSES, type Situation } from './server/causes.ts';

/** All causes. Those of a kind of broker precede the common ones. */
export const CAUSES = [...KINDS.flatMap(({ causes }) => causes), ...COMMON_CAUSES];

/**
 * The reason, preceded by its likely cause and the remedy.
 * @param hasWorked whether this connection was open before
 * @param peerText makes the reason, which may quote the broker, fit to be shown
 */
export function explained(reason: string, url: BrokerUrl, hasWorked: boolean, peerText: PeerText): string {
  const kind = kindOf(url);
  const place = kind.place(url);
  // A recording has no server.
  if (place === undefined) return peerText(reason);
  const { address, port, shown, isSingle } = place;
  const situation: Situation = {
    ...{ scheme: url.scheme, username: url.username, hasWorked, isTls: url.tls !== undefined },
    hasClientCertificate: url.tls?.certFile !== undefined,
    port: isSingle ? port : undefined,
    isLocal: isSingle && /^(?:127\.|localhost$|::1$)/u.test(address),
  };
  const said = shortened(reason);
  const found = [...kind.causes, ...COMMON_CAUSES].find(({ matches }) => matches(said, situation));
  if (found === undefined) return peerText(reason);
  const [plain = '', secure = ''] = Object.keys(kind.schemes);
  const s = url.tls === undefined ? '' : 's';
  const words = { at: shown, port: String(port), broker: kind.title, plain, secure, s };
  return `${advice(found, words)} (${peerText(reason)})`;
}
