/**
 * The source files of the package for the contract tests: the imports, used globals and first comment of each. Reads
 * files; checks nothing.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Token, tokenize } from './tokens.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');

export interface Import {
  /** As written: `node:fs`, `pino`, `../broker/broker.ts`. */
  readonly specifier: string;
  /** A type-only import: nothing is loaded. */
  readonly typeOnly: boolean;
  readonly line: number;
}

/** A use of a global or of a member of one, e.g. `Date.now`, `process.exit`, `console.log`, `setTimeout`. */
export interface GlobalUse {
  readonly name: string;
  readonly line: number;
}

export interface SourceFile {
  /** Relative to `src/`, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
  readonly globals: readonly GlobalUse[];
}

/** Globals for the clock, randomness, the process or I/O. `Date` and `Math` also have harmless uses. */
const GLOBALS = new Set([
  ...[
    'Date',
    'Math',
    'performance',
    'crypto',
    'process',
    'console',
    'globalThis',
    'global',
    'eval',
    'require',
  ],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch', 'WebSocket', 'EventSource'],
]);

function importsOf(tokens: readonly Token[]): Import[] {
  const found: Import[] = [];
  tokens.forEach(({ kind, text, line }, index) => {
    const previous = tokens[index - 1]?.text;
    if (kind !== 'word' || (text !== 'import' && text !== 'export') || previous === '.') return;
    let next = index + 1;
    if (tokens[next]?.text === '.') return; // import.meta
    if (tokens[next]?.text === '(') next += 1;
    // A statement ends at its module's name; what an `export` declares itself ends it before one.
    else if (text === 'import' || ['{', '*', 'type'].includes(tokens[next]?.text ?? '')) {
      while (tokens[next] !== undefined && tokens[next]?.kind !== 'string') {
        if ([';', '=', '('].includes(tokens[next]?.text ?? '')) return;
        next += 1;
      }
      const isFrom = tokens[next - 1]?.text === 'from' || next === index + 1;
      if (!isFrom) return;
    }
    const specifier = tokens[next];
    if (specifier?.kind !== 'string') return;
    const after = tokens[index + 2]?.text;
    const typeOnly = tokens[index + 1]?.text === 'type' && after !== 'from' && after !== ',';
    found.push({ specifier: specifier.text, typeOnly, line });
  });
  return found;
}

function globalsOf(tokens: readonly Token[]): GlobalUse[] {
  const found: GlobalUse[] = [];
  tokens.forEach(({ kind, text, line }, index) => {
    if (kind !== 'word' || !GLOBALS.has(text)) return;
    const [before, dot, member] = [index - 1, index + 1, index + 2].map((at) => tokens[at]?.text);
    // `x.process` and `{ process: … }` are other names.
    if (before === '.' || before === '?.' || dot === ':') return;
    if (dot === '.' || dot === '?.') found.push({ name: `${text}.${member}`, line });
    else if (text !== 'Date') found.push({ name: text, line });
    // The type and `new Date(ms)` do not read the clock; `new Date()` and an alias of it do.
    else if ((dot === '(' && member === ')') || before === '=') found.push({ name: 'Date()', line });
  });
  return found;
}

/** @param file relative to `src/` */
export function parseSource(file: string, text: string): SourceFile {
  const tokens = tokenize(text);
  return { path: file, text, imports: importsOf(tokens), globals: globalsOf(tokens) };
}

/** Every TypeScript file below `src/`. */
export function readSources(): readonly SourceFile[] {
  const directory = path.join(ROOT, 'src');
  const files = globSync('**/*.ts', { cwd: directory }).sort();
  return files.map((file) => parseSource(file, readFileSync(path.join(directory, file), 'utf8')));
}
