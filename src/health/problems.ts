/**
 * Groups the problems of all services by cause, for the status: a problem that several services share is one, the worst
 * comes first, and each has the time when it began. It does not decide what is a problem. Pure: the time is an
 * argument. It keeps one time for each finding.
 */
import { printable } from '../text/printable.ts';
import { agoOf } from './document-values.ts';
import type { StatusProblem } from './status-document.ts';
import { type Finding, GRADES, patienceMs, runbookOf, withoutMarkdown } from './symptoms.ts';

/** The findings about one service. */
export interface ServiceFindings {
  readonly service: string;
  readonly findings: readonly Finding[];
}

interface Problem {
  readonly service: string;
  readonly finding: Finding;
  /** When the problem began, by a monotonic clock. */
  readonly sinceMs: number;
}

/** How many problems the document lists: it must stay short with any number of services. */
const PROBLEMS_MAX = 100;
/** How many services each of them lists. */
const SERVICES_MAX = 20;
/** The parts of an address: the scheme, the user, and the host with its port. */
const ADDRESS = /^(\w[\w+.-]*:\/\/)(?:[^@/]*@)?([^/ ]+)/u;

/** Keeps the time when each problem began. */
export class Problems {
  #beginnings = new Map<string, number>();

  /** @returns the problems that have lasted long enough to be reported */
  note(found: readonly ServiceFindings[], nowMs: number): readonly Problem[] {
    const before = this.#beginnings;
    this.#beginnings = new Map();
    const problems: Problem[] = [];
    for (const { service, findings } of found)
      for (const finding of findings) {
        const { code, subject, grade } = finding;
        if (grade !== 'degraded' && grade !== 'down') continue;
        const key = JSON.stringify([service, code, subject]);
        const sinceMs = before.get(key) ?? nowMs;
        this.#beginnings.set(key, sinceMs);
        if (nowMs - sinceMs >= patienceMs(code)) problems.push({ service, finding, sinceMs });
      }
    return problems;
  }
}

/**
 * Groups the problems of all services by cause.
 * @param time the wall-clock time that belongs to `nowMs`
 * @returns the worst first; then those that affect more services, then the oldest
 */
export function byCause(problems: readonly Problem[], nowMs: number, time: Date): readonly StatusProblem[] {
  const rank = ({ finding: { grade } }: Problem) => GRADES.indexOf(grade);
  const groups = [...Map.groupBy(problems, causeOf).values()].flatMap((group) => {
    const [first] = group.toSorted((one, other) => rank(other) - rank(one));
    return first === undefined
      ? []
      : { first, group, sinceMs: Math.min(...group.map(({ sinceMs }) => sinceMs)) };
  });
  return groups
    .toSorted(
      (one, other) =>
        rank(other.first) - rank(one.first) ||
        other.group.length - one.group.length ||
        one.sinceMs - other.sinceMs,
    )
    .slice(0, PROBLEMS_MAX)
    .map(({ first, group, sinceMs }) => ({
      code: first.finding.code,
      grade: first.finding.grade === 'down' ? 'down' : 'degraded',
      services: [...new Set(group.map(({ service }) => printable(service)))].slice(0, SERVICES_MAX),
      service_count: new Set(group.map(({ service }) => service)).size,
      line: lineOf(first.finding, group),
      names: first.finding.names,
      since: agoOf(time, nowMs - sinceMs),
      remedy: withoutMarkdown(first.finding.remedy),
      runbook: runbookOf(first.finding.code),
    }));
}

/** Problems of several services have one cause if code, line and the host of the broker or backend are the same. */
function causeOf({ service, finding }: Problem): string {
  const { code, subject, line } = finding;
  const host = ADDRESS.exec(subject)?.[2];
  const where = host === undefined ? [service, line] : [host, line.replaceAll(subject, '')];
  return JSON.stringify([code, ...where]);
}

/** The line of the problem; if the addresses of the services differ, only with what they share. */
function lineOf({ line, subject }: Finding, group: readonly Problem[]): string {
  if (group.every(({ finding }) => finding.subject === subject)) return line;
  const [, scheme = '', host = subject] = ADDRESS.exec(subject) ?? [];
  return line.replaceAll(subject, `${scheme}${host}`);
}
