/**
 * Formats the report of a check as text for people and as JSON for programs. Pure; the printer removes control
 * characters.
 */

import { type Finding, type Grade, runbookOf, withoutMarkdown } from '../health/symptoms.ts';
import { printable } from '../text/printable.ts';
import { findingsOf, gradeOf, type Report, type Section } from './check.ts';

const SIGNS: Readonly<Record<Grade, string>> = { fine: '✓', unknown: '?', degraded: '!', down: '✗' };
const VERDICTS = { fine: 'Fine', degraded: 'Degraded', down: 'Down' } as const;
/** The grades that the verdict counts, and their words. */
const COUNTED_GRADES = { down: 'down', degraded: 'degraded', unknown: 'not known' } as const;

export function reportText(report: Report): string {
  const sections = [...report.services, report.backend].map(sectionText);
  return `${sections.join('\n')}\n${verdictText(findingsOf(report))}\n`;
}

export function reportJson(report: Report): string {
  const section = ({ findings }: Section) => ({
    grade: gradeOf(findings),
    findings: findings.map((each) => ({
      ...each,
      remedy: withoutMarkdown(each.remedy),
      runbook: runbookOf(each.code),
    })),
  });
  const document = {
    grade: gradeOf(findingsOf(report)),
    services: report.services.map((each) => ({ service: each.name, ...section(each) })),
    backend: section(report.backend),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** Unknown findings do not make the verdict worse, but they are counted. */
function verdictText(findings: readonly Finding[]): string {
  const counts = Object.entries(COUNTED_GRADES).flatMap(([grade, text]) => {
    const count = findings.filter((each) => each.grade === grade).length;
    return count === 0 ? [] : `${count} ${text}`;
  });
  return `${VERDICTS[gradeOf(findings)]}${counts.length === 0 ? '' : `: ${counts.join(', ')}`}.`;
}

function sectionText({ name, findings }: Section): string {
  return `${printable(name)}\n${findings.map(findingText).join('')}`;
}

function findingText({ grade, line, remedy }: Finding): string {
  const advice = remedy === '' ? '' : `      ${withoutMarkdown(remedy)}\n`;
  return `  ${SIGNS[grade]} ${line}\n${advice}`;
}
