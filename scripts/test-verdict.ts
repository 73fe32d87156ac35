/**
 * What is wrong with a run of tests: those that failed, by file, and what is no failure for Node: nothing ran, or not all. It
 * reads reports and runs nothing.
 */
import path from 'node:path';
import { ROOT } from './test-files.ts';

/** What Node reports of a test. */
export interface TestReport {
  readonly name: string;
  readonly nesting: number;
  readonly file?: string | undefined;
  readonly skip?: string | boolean | undefined;
  readonly todo?: string | boolean | undefined;
  readonly details?: { readonly type?: string | undefined; readonly error?: unknown };
}

export class Verdict {
  /** The first failed test of each file; a test without a file is under ''. */
  readonly failures = new Map<string, string>();
  #ran = 0;
  /** In the file whose suite is being reported: its tests come before it. */
  #ranInFile = 0;
  readonly #unfinished: string[] = [];
  readonly #empty: string[] = [];
  readonly #files: ReadonlySet<string>;
  /** Those that share a process with others, and of which no suite was reported yet. */
  readonly #unreported: Set<string>;

  /** @param shared those of them that share a process */
  constructor(files: readonly string[], shared: readonly string[]) {
    this.#files = new Set(files);
    this.#unreported = new Set(shared);
  }

  passed(report: TestReport): void {
    const { name, file } = report;
    // Node reports a file in which nothing ran as one test that passed.
    if (file !== undefined && path.resolve(name) === file) this.#empty.push(path.relative(ROOT, file));
    else this.#ended(report);
  }

  #ended({ name, nesting, skip, todo, details }: TestReport): void {
    if (details?.type !== 'suite') this.#ranInFile += 1;
    const isSuiteOfFile = nesting === 0 && details?.type === 'suite' && this.#files.has(name);
    const ran = this.#ranInFile;
    if (nesting === 0) this.#ranInFile = 0;
    if (isSuiteOfFile) {
      this.#unreported.delete(name);
      if (ran === 0) this.#empty.push(name);
    } else if (skip !== undefined || todo !== undefined) this.#unfinished.push(name);
    else if (details?.type !== 'suite') this.#ran += 1;
  }

  failed(report: TestReport): void {
    this.#ended(report);
    // A failing todo test does not fail Node’s run.
    if (report.todo !== undefined) return;
    // The suite of a file is in the program that runs several.
    const file = this.#files.has(report.name) ? report.name : path.relative(ROOT, report.file ?? ROOT);
    if (!this.failures.has(file)) this.failures.set(file, `${report.name}: ${messageOf(report)}`);
  }

  sentences({ strict, filtered }: { strict: boolean; filtered: boolean }): readonly string[] {
    return [
      ...(this.#ran === 0 ? ['No test ran.'] : []),
      ...(filtered ? [] : this.#empty.map((file) => `No test ran in ${file}.`)),
      ...(filtered ? [] : [...this.#unreported]).map(
        (file) => `Nothing was reported of ${file}: its process ended before.`,
      ),
      ...(strict ? this.#unfinished.map((name) => `Skipped or todo, which CI=true forbids: ${name}`) : []),
    ];
  }
}

/** The first line of what the test threw, which Node wraps in an error of its own. */
function messageOf({ details }: TestReport): string {
  const { error } = details ?? {};
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split('\n', 1)[0] ?? '';
}
