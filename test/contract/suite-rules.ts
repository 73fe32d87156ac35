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
const CLOCK = String.raw`\b(?:performance|Date)\.now\(\)`;
/** A reading of a clock that has a name. */
const NAMED_READING = new RegExp(String.raw`\b(?<name>\w+)\s*[=:]\s*${CLOCK}\s*[;,}]`, 'gu');

/** Each sentence names what the file does that it may not. */
export function judgesMachine({ path: file, text }: TestSource): readonly string[] {
  const reading = READINGS.exec(text)?.[0];
  const elapsed = elapsedIn(text);
  const names = [...text.matchAll(new RegExp(String.raw`\b(?<name>\w+)\s*[=:]\s*[^;=]*?${elapsed}`, 'gu'))]
    .map(nameOf)
    .filter((name) => isBounded(text, String.raw`\b${name}\b`));
  return [
    ...(reading === undefined ? [] : [`test/${file} reads ${reading}.`]),
    ...names.slice(0, 1).map((name) => `test/${file} bounds ${name}, which is elapsed real time.`),
    ...(isBounded(text, elapsed) ? [`test/${file} bounds elapsed real time.`] : []),
  ];
}

/** The pattern of a difference of two readings of a clock, the later of which is taken there or has a name. */
function elapsedIn(text: string): string {
  const readings = [...text.matchAll(NAMED_READING)].map(nameOf).map((name) => String.raw`\b${name}\b`);
  return String.raw`(?:${[CLOCK, ...readings].join('|')})\s*-\s*[a-z_]\w*`;
}

/** Whether it is asserted to be less than something, written in either order. */
function isBounded(text: string, pattern: string): boolean {
  return [
    String.raw`assert[^;]*(?:${pattern})\)?\s*<[^;]*;`,
    String.raw`assert[^;]*[\w)\]]\s*>=?\s*\(?(?:${pattern})[^;]*;`,
  ].some((assertion) => new RegExp(assertion, 'u').test(text));
}

function nameOf({ groups }: RegExpMatchArray): string {
  return groups?.['name'] ?? '';
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
