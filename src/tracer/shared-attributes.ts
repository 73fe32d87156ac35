/**
 * Keeps the name, the attributes and the name of the service that many spans share. Spans get the same object each time, so that an
 * encoder can cache its encoding. A full cache is cleared; the only cost is time.
 */
import { printable } from '../text/printable.ts';
import { attributesReader } from './attribute-reading.ts';
import type { ServiceNames } from './service-names.ts';
import type { Attributes } from './span.ts';
import { SHARED_ATTRIBUTES } from './span-attributes.ts';
import type { SpanNames, Surroundings } from './span-facts.ts';

interface Shared {
  readonly name: string;
  /** Of a run: its `service.name`, if a rule gives it one. */
  readonly serviceName: string | undefined;
  readonly attributes: Attributes;
}

const ENTRIES_MAX = 10_000;
/** UTF-16 units of all keys together: 4 MB. */
const CHARACTERS_MAX = 2_000_000;

export class SharedAttributes {
  readonly #known = new Map<string, Shared>();
  readonly #read: Readonly<Record<SpanNames['operation'], (names: SpanNames) => Attributes>>;
  readonly #serviceNames: ServiceNames;
  #characters = 0;

  constructor(surroundings: Surroundings, serviceNames: ServiceNames) {
    this.#serviceNames = serviceNames;
    this.#read = {
      send: attributesReader(SHARED_ATTRIBUTES, 'send', surroundings),
      process: attributesReader(SHARED_ATTRIBUTES, 'process', surroundings),
    };
  }

  get size(): number {
    return this.#known.size;
  }

  of(names: SpanNames): Shared {
    const key = keyOf(names);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = {
      name: printable(`${names.operation} ${names.task}`),
      serviceName: names.operation === 'process' ? this.#serviceNames.ofRun(names) : undefined,
      attributes: Object.freeze(this.#read[names.operation](names)),
    };
    if (this.#known.size >= ENTRIES_MAX || this.#characters + key.length > CHARACTERS_MAX) this.#clear();
    this.#known.set(key, made);
    this.#characters += key.length;
    return made;
  }

  #clear(): void {
    this.#known.clear();
    this.#characters = 0;
  }
}

/** The lengths make the key unique for each set of names. It begins with a letter, so that it never looks like an array index. */
function keyOf({ operation, task, queue, worker, destination }: SpanNames): string {
  return `${operation} ${task.length} ${queue.length} ${worker.length} ${task}${queue}${worker}${destination}`;
}
