/** A view of a finished run or sending for the sampler and the attribute tables, from which a span is then made. Pure; values are read on demand. */
import type { Finished, FinishedRun, SentFacts } from './ancestry/finished.ts';
import { presentValue } from './attribute-reading.ts';
import { destinationName } from './destination.ts';
import type { Sampled } from './sampling.ts';
import type { AttributeValue, SpanKind } from './span.ts';
import { OWN_ATTRIBUTES, SHARED_ATTRIBUTES } from './span-attributes.ts';
import type { SpanFacts, Surroundings } from './span-facts.ts';
import { durationMs, type SpanTimes } from './span-times.ts';
import type { TraceOrigin } from './trace-origin.ts';

const SHARED = new Map(Object.entries(SHARED_ATTRIBUTES));
const OWN = new Map(Object.entries(OWN_ATTRIBUTES));

/** The span of a sending if `sent` is given, else of a run. */
export class FinishedSpan implements SpanFacts, Sampled {
  readonly reported: Finished;
  readonly sent: SentFacts | undefined;
  readonly #origin: TraceOrigin;
  readonly times: SpanTimes;
  readonly #surroundings: Surroundings;

  constructor(
    reported: Finished,
    sent: SentFacts | undefined,
    { origin, times }: { readonly origin: TraceOrigin; readonly times: SpanTimes },
    surroundings: Surroundings,
  ) {
    this.reported = reported;
    this.sent = sent;
    this.#origin = origin;
    this.times = times;
    this.#surroundings = surroundings;
  }

  get operation(): 'send' | 'process' {
    return this.run === undefined ? 'send' : 'process';
  }

  get kind(): SpanKind {
    return this.run === undefined ? 'producer' : 'consumer';
  }

  get upstreamFlags(): number | undefined {
    return this.#origin.upstream?.flags;
  }

  get run(): FinishedRun | undefined {
    return this.sent === undefined && this.reported.kind === 'run' ? this.reported : undefined;
  }

  get task(): string {
    return this.run?.run.task ?? this.sent?.name ?? '';
  }

  get queue(): string {
    return this.run?.run.queue ?? this.sent?.queue ?? '';
  }

  get worker(): string {
    return this.run?.run.worker ?? '';
  }

  get destination(): string {
    return destinationName(this.sent ?? this.run?.sent, this.run?.run.queue);
  }

  get durationMs(): number | undefined {
    return this.run && durationMs(this.run, this.times);
  }

  get isRootHidden(): boolean {
    return !this.#origin.isRootId || this.reported.traceRootId !== this.reported.rootId;
  }

  get isParentHidden(): boolean {
    const { parentId, uuid, beginsTrace, isParentUnknown } = this.reported;
    // Below the span of the worker, the parent is one that the worker or its client made.
    const isBelowWorker = this.#origin.reportedFor === 'this run';
    const isOurs = this.#surroundings.settings.spans === 'all' && !isBelowWorker;
    const isInTree = isOurs && !beginsTrace && isParentUnknown !== true;
    return parentId !== uuid && !isInTree;
  }

  attribute(key: string): AttributeValue | undefined {
    const row = OWN.get(key) ?? SHARED.get(key);
    if (row === undefined || (row.on !== 'both' && row.on !== this.operation)) return undefined;
    return presentValue(row.value(this, this.#surroundings));
  }
}
