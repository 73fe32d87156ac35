/** Formats a report as text for people and as JSON for machines. Pure; the printer removes control characters. */

import { type Finding, type Level, plain } from '../health/symptoms.ts';
import { printable } from '../text/printable.ts';
import { countOf, type Report, type Section } from './check.ts';

const SIGNS: Readonly<Record<Level, string>> = { ok: '✓', unknown: '?', warning: '!', failure: '✗' };

export function reportText(report: Report): string {
  const sections = [...report.services, report.backend].map(sectionText);
  const sums = [plural(countOf(report, 'failure'), 'failure'), plural(countOf(report, 'warning'), 'warning')];
  return `${sections.join('\n')}\nFound: ${sums.join(', ')}.\n`;
}

export function reportJson({ services, backend }: Report): string {
  const findings = (section: Section) =>
    section.findings.map((each) => ({ ...each, remedy: plain(each.remedy) }));
  return `${JSON.stringify(
    {
      services: services.map((section) => ({ service: section.name, findings: findings(section) })),
      backend: findings(backend),
      failures: countOf({ services, backend }, 'failure'),
      warnings: countOf({ services, backend }, 'warning'),
    },
    undefined,
    2,
  )}\n`;
}

function sectionText({ name, findings }: Section): string {
  return `${printable(name)}\n${findings.map(findingText).join('')}`;
}

function findingText({ level, line, remedy }: Finding): string {
  const advice = remedy === '' ? '' : `      ${plain(remedy)}\n`;
  return `  ${SIGNS[level]} ${line}\n${advice}`;
}

function plural(count: number, what: string): string {
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`;
}
