/**
 * Finds the `service.name` of a span by rules about its task, queue and worker. The first rule that matches decides; without one, the
 * span has that of its service. It remembers the names of a bounded number of senders. Pure.
 */
import { RecentKeys } from '../text/recent-keys.ts';
import { safeKey } from '../text/safe-key.ts';
import { wildcard } from '../text/wildcard.ts';
import type { SpanNames } from './span-facts.ts';
import type { ServiceNameRule } from './trace-settings.ts';

type Matched = Pick<SpanNames, 'task' | 'queue' | 'worker'>;

interface Compiled {
  readonly name: string;
  readonly conditions: readonly ((names: Matched) => boolean)[];
}

const KINDS = ['task', 'queue', 'worker'] as const;
/** How many senders are remembered at least. */
const SENDERS_AT_LEAST = 1000;
/** Longest remembered sender, in characters. */
const SENDER_LENGTH_MAX = 255;
/** Remembered of a sender that no rule matches. */
const NO_NAME = '';

export class ServiceNames {
  readonly #rules: readonly Compiled[];
  /** The rules about nothing but the worker. */
  readonly #ofWorkers: readonly Compiled[];
  readonly #bySender = new RecentKeys<string>(SENDERS_AT_LEAST);

  constructor(rules: readonly ServiceNameRule[]) {
    this.#rules = rules.map(compiled);
    this.#ofWorkers = rules.filter(({ task, queue }) => (task ?? queue) === undefined).map(compiled);
  }

  /** Of a run. */
  ofRun(names: Matched): string | undefined {
    return firstOf(this.#rules, names);
  }

  /**
   * Of a sending. It belongs to its sender: the task is not the one that the sender may be running, and the queue is not the one that it
   * consumes, so only rules about nothing but the worker apply.
   */
  ofSender(sender: string): string | undefined {
    if (this.#ofWorkers.length === 0) return undefined;
    const names = { task: '', queue: '', worker: sender };
    if (sender.length > SENDER_LENGTH_MAX) return firstOf(this.#ofWorkers, names);
    const key = safeKey(sender);
    let name = this.#bySender.get(key);
    if (name === undefined) {
      name = firstOf(this.#ofWorkers, names) ?? NO_NAME;
      this.#bySender.set(key, name);
    }
    return name === NO_NAME ? undefined : name;
  }
}

function compiled(rule: ServiceNameRule): Compiled {
  const conditions = KINDS.flatMap((kind) => {
    const pattern = rule[kind];
    if (pattern === undefined) return [];
    const matches = wildcard(pattern);
    return [(names: Matched) => matches(names[kind])];
  });
  return { name: rule.name, conditions };
}

function firstOf(rules: readonly Compiled[], names: Matched): string | undefined {
  return rules.find(({ conditions }) => conditions.every((matches) => matches(names)))?.name;
}
