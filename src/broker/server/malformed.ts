/** The error of a server that breaks its protocol. It ends the connection, and nothing else: it may be well the next time. */
import { reasonOf } from '../../text/errors.ts';

export class Malformed extends Error {
  override readonly name = 'Malformed';

  constructor(protocol: 'AMQP' | 'Redis', cause: unknown) {
    super(`the server breaks the protocol of ${protocol}: ${reasonOf(cause)}`, { cause });
  }
}
