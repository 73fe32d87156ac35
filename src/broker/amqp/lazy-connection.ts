/** A second connection to RabbitMQ, besides the one for events, so that an error does not interrupt them. It opens on first use and stays open until it breaks. */
import type { ChannelModel } from 'amqplib';
import { closeConnection } from './connection.ts';
import { causeOf } from './failure.ts';

/** Connects; aborting the signal destroys the socket. */
export type Connect = (signal: AbortSignal) => Promise<ChannelModel>;

export class LazyConnection {
  readonly #connect: Connect;
  #model: ChannelModel | undefined;
  /** Aborting it destroys the socket. */
  #socket = new AbortController();

  constructor(connect: Connect) {
    this.#connect = connect;
  }

  /** Whether `model` is the current connection. */
  isOpen(model: ChannelModel | undefined): boolean {
    return model !== undefined && model === this.#model;
  }

  /**
   * Runs `act` with the connection. An error of `act` ends the connection.
   * @throws the error of `act`. If connecting fails, the connection breaks or the signal aborts, it throws at once and does not
   * wait for `act`
   */
  async use<Result>(act: (model: ChannelModel) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const { promise: over, reject } = Promise.withResolvers<never>();
    const broken = (error?: Error): void => reject(causeOf(error ?? new Error('the connection was closed')));
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener('abort', giveUp);
    let model: ChannelModel | undefined;
    try {
      signal.throwIfAborted();
      model = await Promise.race([this.#connected(), over]);
      model.once('close', broken);
      return await Promise.race([act(model), over]);
    } catch (error) {
      void this.end();
      throw error;
    } finally {
      model?.off('close', broken);
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Closes the connection; the next use opens another one. Never rejects. */
  async end(): Promise<void> {
    const [model, socket] = [this.#model, this.#socket];
    [this.#model, this.#socket] = [undefined, new AbortController()];
    if (model !== undefined) await closeConnection(model);
    socket.abort();
  }

  async #connected(): Promise<ChannelModel> {
    if (this.#model !== undefined) return this.#model;
    const socket = this.#socket;
    // During the handshake, amqplib does not report that its socket was destroyed.
    const model = await Promise.race([this.#connect(socket.signal), rejectionBy(socket.signal)]);
    model.on('close', () => {
      if (this.#model === model) this.#model = undefined;
    });
    this.#model = model;
    return model;
  }
}

function rejectionBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
