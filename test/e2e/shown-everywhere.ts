/**
 * What a running bridge says of its clusters, in all places where people look while it runs: in `/status.json`, in `celery-otel top` and on
 * the status page, which a real Chromium draws. All three have to name the same problems of the same services, and to call fine what is
 * fine, and nothing else. It starts no bridge.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runInProcess } from '../cli/process-io.ts';
import { until } from '../until.ts';
import type { BridgeProcess, Ending } from './bridge-process.ts';

const READING = fileURLToPath(new URL('../page/reading-process.ts', import.meta.url));
/** `top` names no more of them. */
const SERVICES_NAMED_MAX = 3;

export interface Problem {
  readonly code: string;
  readonly grade: string;
  readonly line: string;
  readonly services: readonly string[];
  readonly service_count: number;
}

/** The part of `/status.json` that says what is wrong. */
export interface Status {
  readonly grade: string;
  readonly summary: string;
  readonly problems: readonly Problem[];
  readonly services: readonly {
    readonly name: string;
    readonly grade: string;
    readonly as_of: string | null;
  }[];
}

/** What the page says to who opens it now. */
interface PageTexts {
  readonly verdict: string;
  readonly title: string;
  readonly subtitle: string;
  readonly problems: readonly string[];
  /** Errors of the page. */
  readonly faults: readonly string[];
}

/** Where it serves its status. */
export async function statusUrl(bridge: Pick<BridgeProcess, 'log' | 'logged'>): Promise<string> {
  await bridge.logged(/status at http/u);
  return /status at (http:\/\/[\d.:]+)\/status\.json/u.exec(bridge.log())?.[1] ?? '';
}

export async function statusOf(url: string): Promise<Status> {
  return JSON.parse(await (await fetch(`${url}/status.json`)).text());
}

/** Starts the browser, which takes a while and a core: once in a file, before anything else is started. */
export function lookEverywhere(t: Ending) {
  const child = spawn(process.execPath, [READING], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  t.after(() => {
    child.stdin.end();
    return closed;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const pageAt = async (url: string): Promise<PageTexts> => {
    child.stdin.write(`${url}\n`);
    const { value } = await lines.next();
    assert.ok(value !== undefined, 'the process that reads the page has ended');
    return JSON.parse(value);
  };
  return {
    /**
     * Waits until the status has problems with these codes, and `top` and the page have all that it has; without codes, until all is fine
     * in all places. @returns that status
     */
    showsEverywhere(url: string, ...codes: readonly string[]): Promise<Status> {
      let missing: readonly string[] = [];
      return until(
        codes.join(', ') || 'all is fine',
        async () => {
          const [status, top, page] = [await statusOf(url), await topOf(url), await pageAt(url)];
          missing = missingIn(status, top, page, codes);
          return missing.length === 0 && status;
        },
        () => missing.join('\n'),
      );
    },
  };
}

async function topOf(url: string): Promise<readonly string[]> {
  const { stdout } = await runInProcess(['top', url, '--once']);
  return stdout.split('\n');
}

/** What is not as it should be, in sentences. */
function missingIn(
  status: Status,
  top: readonly string[],
  page: PageTexts,
  codes: readonly string[],
): readonly string[] {
  const { grade, problems } = status;
  const isFine = codes.length === 0;
  const saysFine = {
    'the status': grade === 'fine',
    top: top.some((line) => line.startsWith('✓ Fine: ')),
    'the page': page.verdict.startsWith('Fine') && page.subtitle.startsWith('Fine: '),
  };
  const found = new Set(problems.map(({ code }) => code));
  return [
    ...Object.entries(saysFine).flatMap(([place, says]) =>
      says === isFine ? [] : [`${place} ${says ? 'says' : 'does not say'} that all is fine`],
    ),
    ...(page.problems.length === problems.length ? [] : [`the page has ${page.problems.length} problems`]),
    ...page.faults.map((fault) => `the page: ${fault}`),
    ...codes.filter((code) => !found.has(code)).map((code) => `the status has no ${code}`),
    ...problems.flatMap((problem) => [
      ...(isInTop(problem, top) ? [] : [`not in top: ${problem.line}\n${top.join('\n')}`]),
      ...(isOnPage(problem, page) ? [] : [`not on the page: ${problem.line}\n${page.problems.join('\n')}`]),
    ]),
  ];
}

function isInTop({ services, line }: Problem, top: readonly string[]): boolean {
  const said = steady(`: ${line}, since `);
  return top.some((each) => {
    const [before, after] = steady(each).split(said);
    return (
      after !== undefined &&
      services.slice(0, SERVICES_NAMED_MAX).every((name) => before?.includes(steady(name)))
    );
  });
}

function isOnPage({ services, line }: Problem, { problems }: PageTexts): boolean {
  return problems.some((each) =>
    [line, ...services, 'What to do: '].every((part) => steady(each).includes(steady(part))),
  );
}

/** Without numbers, which grow from one look to the next. */
function steady(text: string): string {
  return text.replaceAll(/\d+/gu, 'N');
}
