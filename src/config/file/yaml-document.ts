/**
 * The text of a configuration file as a YAML document: what is wrong with its syntax, and on which line what is. Of the
 * text, which may hold secrets, it repeats no more than keys.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
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
  /** What it is about; undefined: the text as a whole. */
  readonly path?: FilePath;
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
  const document = parseDocument(text, {
    version: '1.2',
    prettyErrors: false,
    lineCounter: lines,
    // Its own check takes 1 and "1" for two keys, and names neither.
    uniqueKeys: false,
  });
  // What is only warned of, a tag that means nothing for one, would be ignored.
  const mistakes: LineMistake[] = [...document.errors, ...document.warnings].map(({ pos, code }) => ({
    line: lines.linePos(pos[0]).line,
    expected: SYNTAX[code],
  }));
  const lineOfNode = (node: unknown): number => lines.linePos(startOf(node)).line;
  const toldTwice = (path: FilePath, first: Node, second: Node): LineMistake => ({
    line: lineOfNode(second),
    path,
    expected: `${SYNTAX.DUPLICATE_KEY} (it is on line ${lineOfNode(first)} too)`,
  });
  let aliases = 0;
  visit(document, {
    Map(_, node, above) {
      // What is a key of a text that is none in YAML may be a piece of anything.
      if (document.errors.length > 0) return;
      const first = new Map<string, Node>();
      for (const { key } of node.items) {
        const text = keyText(document, key);
        if (text === undefined || !isNode(key)) continue;
        const other = first.get(text);
        if (other === undefined) first.set(text, key);
        else mistakes.push(toldTwice([...pathTo(document, [...above, node]), text], other, key));
      }
    },
    Alias(_, node, above) {
      aliases += 1;
      // To find its anchor takes a walk through the document each.
      if (aliases > ALIASES_MAX) return visit.BREAK;
      const target = node.resolve(document);
      if (target !== undefined && !above.includes(target)) return undefined;
      mistakes.push({ line: lineOfNode(node), expected: SYNTAX.BAD_ALIAS });
      return undefined;
    },
    Pair(_, { key }) {
      if (isScalar(key) || (isAlias(key) && isScalar(key.resolve(document)))) return;
      mistakes.push({ line: lineOfNode(key), expected: SYNTAX.NON_STRING_KEY });
    },
  });
  if (aliases > ALIASES_MAX || (mistakes.length === 0 && !isBounded(document))) {
    mistakes.push({ line: 1, expected: SYNTAX.RESOURCE_EXHAUSTION });
  }
  const walk = (path: FilePath) => walkTo(document, path);
  // The parser stumbles over each token of a line anew.
  const once = new Map(mistakes.map((mistake) => [JSON.stringify(mistake), mistake]));
  return {
    document,
    mistakes: [...once.values()].sort((a, b) => a.line - b.line),
    lineOf: (path) => lines.linePos(walk(path).start).line,
    lineOfNode,
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

/** The path of the last of these nodes, each of which is within the one before. */
function pathTo(document: Document, nodes: readonly unknown[]): FilePath {
  return nodes.flatMap((node, index): FilePath => {
    if (isPair(node)) return [keyText(document, node.key) ?? ''];
    return isSeq(node) ? [node.items.indexOf(nodes[index + 1])] : [];
  });
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
