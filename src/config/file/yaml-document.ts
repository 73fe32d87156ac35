/**
 * The text of a configuration file as a YAML document: what is wrong with its syntax, and on which line what is. It
 * repeats nothing of the text, which may hold secrets.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
  type YAMLError,
} from 'yaml';
import type { FilePath } from './file-path.ts';

/** A mistake on a line, with what stands after the word "expected". */
export interface LineMistake {
  readonly line: number;
  readonly expected: string;
}

export interface YamlText {
  readonly document: Document;
  readonly mistakes: readonly LineMistake[];
  /** The line of the deepest part of the path that is there. */
  lineOf(path: FilePath): number;
  lineOfNode(node: Node): number;
  /** The scalar at a path. */
  scalarAt(path: FilePath): Scalar | undefined;
}

/** The parser's own sentences have pieces of the text in them. */
const SYNTAX: Readonly<Record<YAMLError['code'], string>> = {
  ALIAS_PROPS: 'an alias (*name) without anchor or tag of its own',
  BAD_ALIAS: 'an alias (*name) after its anchor (&name) and not within it, both with a name',
  BAD_COLLECTION_TYPE: 'no such tag (!name)',
  BAD_DIRECTIVE: 'no such directive (a line that begins with %)',
  BAD_DQ_ESCAPE: 'no such escape (\\) between double quotes; single quotes know none',
  BAD_INDENT: 'indentation that fits what is above it',
  BAD_PROP_ORDER: 'anchors and tags after the indicator (-, ? or :)',
  BAD_SCALAR_START: 'quotes around a text that begins with such a character',
  BLOCK_AS_IMPLICIT_KEY: 'one key on a line, and quotes around a text that has ": " in it',
  BLOCK_IN_FLOW: 'nothing in block style between brackets',
  DUPLICATE_KEY: 'each key of a map once',
  IMPOSSIBLE: 'valid YAML',
  KEY_OVER_1024_CHARS: 'a key of at most 1024 characters',
  MISSING_CHAR: 'a character that is missing: a quote, a bracket, a comma, a space, or the colon after a key',
  MULTILINE_IMPLICIT_KEY: 'a key, then a colon and a space, all on one line',
  MULTIPLE_ANCHORS: 'one anchor at most',
  MULTIPLE_DOCS: 'one document in the file',
  MULTIPLE_TAGS: 'one tag at most',
  NON_STRING_KEY: 'a text as the key',
  RESOURCE_EXHAUSTION: 'fewer aliases',
  TAB_AS_INDENT: 'spaces, not tabs, before the first character',
  TAG_RESOLVE_FAILED: 'no such tag (!name)',
  UNEXPECTED_TOKEN: 'nothing like this here (a text with such characters needs quotes)',
};

/** A file that says something twice, or ten times, has fewer. */
const ALIASES_MAX = 100;

export function readYaml(text: string): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, { version: '1.2', prettyErrors: false, lineCounter: lines });
  // What is only warned of, a tag that means nothing for one, would be ignored.
  const mistakes = [...document.errors, ...document.warnings].map(({ pos, code }) => ({
    line: lines.linePos(pos[0]).line,
    expected: SYNTAX[code],
  }));
  let aliases = 0;
  visit(document, {
    Alias(_, node, above) {
      aliases += 1;
      // To find its anchor takes a walk through the document each.
      if (aliases > ALIASES_MAX) return visit.BREAK;
      const target = node.resolve(document);
      if (target !== undefined && !above.includes(target)) return undefined;
      mistakes.push({ line: lines.linePos(startOf(node)).line, expected: SYNTAX.BAD_ALIAS });
      return undefined;
    },
    Pair(_, { key }) {
      if (isScalar(key) || (isAlias(key) && isScalar(key.resolve(document)))) return;
      mistakes.push({ line: lines.linePos(startOf(key)).line, expected: SYNTAX.NON_STRING_KEY });
    },
  });
  if (aliases > ALIASES_MAX || (mistakes.length === 0 && !isBounded(document))) {
    mistakes.push({ line: 1, expected: SYNTAX.RESOURCE_EXHAUSTION });
  }
  const walk = (path: FilePath) => walkTo(document, path);
  // The parser stumbles over each token of a line anew.
  const once = new Map(mistakes.map((mistake) => [`${mistake.line} ${mistake.expected}`, mistake]));
  return {
    document,
    mistakes: [...once.values()].sort((a, b) => a.line - b.line),
    lineOf: (path) => lines.linePos(walk(path).start).line,
    lineOfNode: (node) => lines.linePos(startOf(node)).line,
    scalarAt(path) {
      const { node } = walk(path);
      return isScalar(node) ? node : undefined;
    },
  };
}

/** Whether its aliases can be resolved: of aliases of aliases a few lines may become gigabytes. */
function isBounded(document: Document): boolean {
  try {
    document.toJS();
    return true;
  } catch (error) {
    if (error instanceof ReferenceError) return false;
    throw error;
  }
}

/** Where a path leads: to a node, or where it is not there to none; and the start of the last part that is there. */
function walkTo(document: Document, path: FilePath): { node: Node | undefined; start: number } {
  let node: unknown = document.contents;
  let start = startOf(node);
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    const part: { at: unknown; value: unknown } | undefined = partOf(document, node, step);
    if (part === undefined) return { node: undefined, start };
    start = startOf(part.at);
    node = part.value;
  }
  if (isAlias(node)) node = node.resolve(document);
  return { node: isNode(node) ? node : undefined, start };
}

/** The part of a map or a list that a step leads to, and where that begins: an entry of a map with its key. */
function partOf(document: Document, node: unknown, step: string | number) {
  if (isMap(node) && typeof step === 'string') {
    const pair = node.items.find(({ key }) => keyText(document, key) === step);
    return pair === undefined ? undefined : { at: pair.key, value: pair.value };
  }
  if (!isSeq(node) || typeof step !== 'number' || step >= node.items.length) return undefined;
  return { at: node.items[step], value: node.items[step] };
}

/** A key as it becomes one of an object. */
function keyText(document: Document, key: unknown): string | undefined {
  const scalar = isAlias(key) ? key.resolve(document) : key;
  return isScalar(scalar) ? String(scalar.value ?? '') : undefined;
}

function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}
