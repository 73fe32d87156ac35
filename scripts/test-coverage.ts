/** Which part of `src/` a run of the tests covered, by room. It measures nothing. */
import path from 'node:path';
import { ROOT } from './test-files.ts';

/** Percent of `src/`; a little below today’s coverage by all tests. */
const COVERED_MIN = { lines: 98, branches: 96 };

/** The counts of one file or of all. */
type Covered = Record<`${'total' | 'covered'}${'Line' | 'Branch'}Count`, number>;

export interface CoverageReport {
  readonly text: string;
  readonly flaws: readonly string[];
}

/** One line for each room of `src/`, and a message for each minimum that is not reached. */
export function coverageReport(summary: {
  files: (Covered & { path: string })[];
  totals: Covered;
}): CoverageReport {
  const percent = (covered: number, total: number) => (100 * covered) / total;
  const of = (counts: readonly Covered[]) => {
    const sum = (key: keyof Covered) => counts.reduce((all, each) => all + each[key], 0);
    return {
      lines: percent(sum('coveredLineCount'), sum('totalLineCount')),
      branches: percent(sum('coveredBranchCount'), sum('totalBranchCount')),
    };
  };
  const line = (name: string, { lines, branches }: ReturnType<typeof of>) =>
    `${name.padEnd(20)} ${lines.toFixed(1).padStart(5)} % of lines, ${branches.toFixed(1).padStart(5)} % of branches\n`;
  const rooms = Map.groupBy(summary.files, (file) => path.relative(ROOT, path.dirname(file.path)));
  const all = of([summary.totals]);
  return {
    text: [...rooms].map(([room, files]) => line(room, of(files))).join('') + line('all', all),
    flaws: (['lines', 'branches'] as const)
      .filter((what) => all[what] < COVERED_MIN[what])
      .map(
        (what) =>
          `Coverage of ${what} is ${all[what].toFixed(1)} %, below the minimum of ${COVERED_MIN[what]} %.`,
      ),
  };
}
