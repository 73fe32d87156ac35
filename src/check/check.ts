/**
 * Checks all services and the backend at the same time: for a first run, and for when no data arrives. It composes the
 * report, and prints nothing.
 */
import type { Config } from '../config/config.ts';
import { type Finding, type Grade, worstOf } from '../health/symptoms.ts';
import { probeBackends } from './probe-backend.ts';
import { type WatchOptions, watchService } from './watch-service.ts';

/** The findings about one service, or about the backend. */
export interface Section {
  readonly name: string;
  readonly findings: readonly Finding[];
}

export interface Report {
  readonly services: readonly Section[];
  readonly backend: Section;
}

/** A check that is running. */
export interface Check {
  /** How many workers and events of all services have been seen so far. */
  readonly seen: () => { readonly workers: number; readonly events: number };
  readonly report: Promise<Report>;
}

export function startCheck(
  config: Pick<Config, 'services' | 'otlp' | 'traces' | 'logs'>,
  options: WatchOptions,
): Check {
  const watches = config.services.map((service) => ({
    name: service.name,
    ...watchService(service, options),
  }));
  const backend = probeBackends(config, options.signal);
  const sum = (key: 'workers' | 'events') => watches.reduce((total, { seen }) => total + seen()[key], 0);
  return {
    seen: () => ({ workers: sum('workers'), events: sum('events') }),
    report: (async () => ({
      services: await Promise.all(
        watches.map(async ({ name, findings }) => ({ name, findings: await findings })),
      ),
      backend: { name: 'backend', findings: await backend },
    }))(),
  };
}

export function findingsOf({ services, backend }: Report): readonly Finding[] {
  return [...services, backend].flatMap((section) => section.findings);
}

/** The worst grade; unknown findings do not make it worse. */
export function gradeOf(findings: readonly Finding[]): Exclude<Grade, 'unknown'> {
  const worst = worstOf(findings.map(({ grade }) => grade));
  return worst === 'unknown' ? 'fine' : worst;
}
