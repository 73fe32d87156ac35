/** The error of a server that violates its protocol. It only ends the connection: the next one may work. */
import { reasonOf } from '../../text/errors.ts';

export class Malformed extends Error {
  override readonly name = 'Malformed';

  constructor(protocol: 'AMQP' | 'Redis', cause: unknown) {
    super(`the server violates the ${protocol} protocol: ${reasonOf(cause)}`, { cause });
  }
}
