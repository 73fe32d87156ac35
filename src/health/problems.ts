/**
 * The problems of all services by cause, for the status: what several services share is one problem, the worst comes first, and each has
 * its beginning. It judges nothing. Pure: the time is an argument. It keeps as many beginnings as there are findings.
 */
import { printable } from '../text/printable.ts';
import type { StatusProblem } from './status-document.ts';
import { type Finding, GRADES, patienceMs, plain, runbookOf } from './symptoms.ts';

/** What the judge found of one service. */
export interface FoundOf {
  readonly service: string;
  readonly findings: readonly Finding[];
}

interface Problem {
  readonly service: string;
  readonly finding: Finding;
  /** Monotonic, ms. */
  readonly sinceMs: number;
}

/** The document must stay short with any number of services. */
const PROBLEMS_MAX = 100;
const SERVICES_MAX = 20;
/** An address, by its parts: the scheme, the user, the host with its port. */
const ADDRESS = /^(\w[\w+.-]*:\/\/)(?:[^@/]*@)?([^/ ]+)/u;

/** When each problem began. */
export class Problems {
  #beginnings = new Map<string, number>();

  /** @returns the problems that have lasted long enough to be reported */
  note(found: readonly FoundOf[], nowMs: number): readonly Problem[] {
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
 * @param time of `nowMs`
 * @returns the worst first; of these the one that affects most services, then the oldest
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
      since: new Date(time.getTime() - (nowMs - sinceMs)).toISOString(),
      remedy: plain(first.finding.remedy),
      runbook: runbookOf(first.finding.code),
    }));
}

/** Services share a broker or a backend if its host and what is wrong with it are the same. */
function causeOf({ service, finding }: Problem): string {
  const { code, subject, line } = finding;
  const host = ADDRESS.exec(subject)?.[2];
  const where = host === undefined ? [service, line] : [host, line.replaceAll(subject, '')];
  return JSON.stringify([code, ...where]);
}

/** The address without what differs. */
function lineOf({ line, subject }: Finding, group: readonly Problem[]): string {
  if (group.every(({ finding }) => finding.subject === subject)) return line;
  const [, scheme = '', host = subject] = ADDRESS.exec(subject) ?? [];
  return line.replaceAll(subject, `${scheme}${host}`);
}
