/**
 * Rounds of questions where no reply can harm a worker, as on RabbitMQ: everybody is asked, known or not. It knows nothing of what a reply
 * means.
 */
import { commandsOf, isOnce, isRisky, type OnceCommand } from '../broker/control/asked-commands.ts';
import { runYielding } from '../yielding.ts';
import { OncePerProcess } from './once-per-process.ts';
import type { Questioner } from './questioner.ts';
import { type InspectionOptions, isTooSoon, noteRisky, type Rounds } from './rounds.ts';

/** Every so many rounds, nobody in particular is expected: that finds workers that send no heartbeats. */
const OPEN_ROUNDS = 4;

export class OpenRounds implements Rounds {
  readonly #questioner: Questioner;
  readonly #options: InspectionOptions;
  readonly #ending: AbortSignal;
  #rounds = 0;
  /** Of commands that each process is asked once. */
  readonly #once: Readonly<Record<OnceCommand, OncePerProcess>> = {
    active: new OncePerProcess(),
    reserved: new OncePerProcess(),
    scheduled: new OncePerProcess(),
    enable_events: new OncePerProcess(),
  };

  constructor(questioner: Questioner, options: InspectionOptions, ending: AbortSignal) {
    this.#questioner = questioner;
    this.#options = options;
    this.#ending = ending;
  }

  async round(): Promise<boolean> {
    const { answers, onAsked, now, yieldToLoop, memory } = this.#options;
    let isAsked = false;
    for (const command of commandsOf(this.#options)) {
      if (isTooSoon(memory, command)) continue;
      const once = isOnce(command) ? this.#once[command] : undefined;
      const up = await runYielding(yieldToLoop, answers.workersUp(now().listenedMs));
      if (this.#ending.aborted) return false;
      const to = once?.next(answers.session, up) ?? 'everybody';
      if (to === 'nobody') continue;
      if (isRisky(command)) noteRisky(memory, command);
      const awaited = to === 'everybody' ? up.map(({ nodename }) => nodename) : to;
      const isOpen = to === 'everybody' && (once !== undefined || this.#rounds % OPEN_ROUNDS === 0);
      const { asked, replies } = await this.#questioner.put({ command, to, awaited, isOpen });
      if (this.#ending.aborted) return false;
      for (const nodename of replies.used) once?.replied(nodename);
      if (asked.outcome !== 'failure') isAsked = true;
      onAsked(asked);
    }
    this.#rounds += 1;
    return isAsked;
  }
}
