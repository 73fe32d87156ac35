/**
 * What no file of `npm test` may do: judge the machine. Costs are measured in `*.limits.ts`. Pure: checks texts, reads nothing.
 */
import path from 'node:path';

/** A file of `test/`, by its path from there. */
export interface TestSource {
  readonly path: string;
  readonly text: string;
}

/** Node’s readings of a process and of its heap, and Linux’. */
const READINGS =
  /\b(?:threadCpuUsage|cpuUsage|resourceUsage|memoryUsage|heapUsed|getHeapStatistics|monitorEventLoopDelay)\b|\beventLoopUtilization\(|\/proc\/[^'"`\s]*\/(?:stat|statm|status|smaps\w*)\b/u;
/** The difference of two readings of a clock, with the name that it gets. */
const ELAPSED = /\b(?<name>\w+)\s*[=:]\s*[^;=]*?\b(?:performance|Date)\.now\(\)\s*-\s/gu;
/** An elapsed time that is compared at once. */
const COMPARED_AT_ONCE = /assert[^;]*\b(?:performance|Date)\.now\(\)\s*-\s[^;]*?<[^;]*;/u;

/** Each sentence names what the file does that it may not. */
export function judgesMachine({ path: file, text }: TestSource): readonly string[] {
  const reading = READINGS.exec(text)?.[0];
  const names = [...text.matchAll(ELAPSED)].map(({ groups }) => groups?.['name'] ?? '');
  const isBounded = (name: string) => new RegExp(`assert[^;]*\\b${name}\\b\\s*<[^;]*;`, 'u').test(text);
  const bounded = names.find(isBounded);
  return [
    ...(reading === undefined ? [] : [`test/${file} reads ${reading}.`]),
    ...(bounded === undefined ? [] : [`test/${file} bounds ${bounded}, which is elapsed real time.`]),
    ...(COMPARED_AT_ONCE.test(text) ? [`test/${file} bounds elapsed real time.`] : []),
  ];
}

/** The files of `npm test`, and all of `test/` that they import. */
export function ofFirstSuite(files: readonly TestSource[]): readonly TestSource[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = new Set<TestSource>();
  const add = (file: TestSource | undefined): void => {
    if (file === undefined || found.has(file)) return;
    found.add(file);
    for (const [, name = ''] of file.text.matchAll(/\bfrom '(\.[^']*)'/gu))
      add(byPath.get(path.join(path.dirname(file.path), name)));
  };
  for (const file of files) if (file.path.endsWith('.test.ts')) add(file);
  return [...found];
}
