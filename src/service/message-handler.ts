/**
 * Handles the messages of one service: each is decoded, counted and applied on one call stack; missing events are
 * reported. It opens no connection, and keeps no events.
 */
import type { Deliver } from '../broker/broker.ts';
import { isReplay } from '../broker/kinds.ts';
import { type DecodeWants, decode } from '../celery/decode.ts';
import type { CeleryEvent } from '../celery/event.ts';
import { ExpansionReserve } from '../celery/expansion.ts';
import { INTENTIONAL_REASONS } from '../celery/rejection.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { CountEvent } from '../meter/self-recorder.ts';
import type { EventSink } from '../self/self-event.ts';
import type { MissingEvents } from './missing-events.ts';
import type { EventRates } from './service-state.ts';

export interface MessageHandlerOptions {
  readonly service: string;
  readonly cluster: Pick<Cluster, 'apply'>;
  readonly eventRates: EventRates;
  readonly missing: MissingEvents;
  readonly report: EventSink;
  readonly countEvent?: CountEvent | undefined;
  /**
   * Called for each event, @returns whether the event is applied; by default all are.
   * @param arrivedAtMs epoch ms
   */
  readonly admit?: ((event: CeleryEvent, arrivedAtMs: number, listenedMs: number) => boolean) | undefined;
  /** Optional fields to decode, too. */
  readonly wants?: DecodeWants | undefined;
}

export function messageHandler({
  service,
  cluster,
  eventRates,
  missing,
  report,
  countEvent,
  admit = () => true,
  wants,
}: MessageHandlerOptions): Deliver {
  let reserve: ExpansionReserve | undefined;
  return (message, listenedMs, steadyMs) => {
    reserve ??= new ExpansionReserve(listenedMs);
    const { events, rejections, implausible } = decode(message, listenedMs, reserve, wants);
    for (const event of events) {
      missing.note(event);
      countEvent?.(event, message.arrivedAtMs);
      eventRates.note(message.arrivedAtMs, event.implausibleMs === undefined ? event.timestampMs : undefined);
      if (admit(event, message.arrivedAtMs, listenedMs)) cluster.apply(event, steadyMs, listenedMs);
    }
    if (events.length === 0 && rejections.length > 0) missing.noteUnreadable();
    for (const { reason, detail } of rejections) {
      const intentional = INTENTIONAL_REASONS.has(reason);
      report({ kind: 'input-dropped', service, reason, intentional, detail });
    }
    for (const { field, detail } of implausible)
      report({ kind: 'field-implausible', service, field, detail });
  };
}

/**
 * Call it every few seconds.
 * @param listenedMs how long events could have arrived so far, by a monotonic clock
 */
export type LookForMissing = (listenedMs: number) => void;

/** Reports missing events, except those of a recording, which has its own time and whose user knows its content. */
export function missingReporter(
  missing: MissingEvents,
  { name: service, broker }: Pick<ServiceConfig, 'name' | 'broker'>,
  report: EventSink,
): LookForMissing {
  const { urls, eventExchange: exchange } = broker;
  if (isReplay(urls)) return () => {};
  return (listenedMs) => {
    for (const finding of missing.check(listenedMs))
      report(finding.kind === 'events-missing' ? { ...finding, service, exchange } : { ...finding, service });
  };
}
