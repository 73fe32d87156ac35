/**
 * Parses a configuration file as YAML: finds syntax errors, and the line of each node. Its messages quote nothing from
 * the file, which may contain secrets.
 */
import {
  type Document,
  isAlias,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';

/** Messages by the parser's error codes. The parser's own messages quote the file. */
const SYNTAX: Readonly<Record<YAMLError['code'], string>> = {
  ALIAS_PROPS: 'an alias (*name) without an anchor or a tag',
  BAD_ALIAS: 'an alias (*name) after its anchor (&name), not within it',
  BAD_COLLECTION_TYPE: 'a known tag (!name)',
  BAD_DIRECTIVE: 'a known directive (%)',
  BAD_DQ_ESCAPE: 'a valid escape (\\) in double quotes; single quotes have no escapes',
  BAD_INDENT: 'consistent indentation',
  BAD_PROP_ORDER: 'anchors and tags after the indicator (-, ? or :)',
  BAD_SCALAR_START: 'quotes around a string that starts with this character',
  BLOCK_AS_IMPLICIT_KEY: 'one key per line, and quotes around a string that contains ": "',
  BLOCK_IN_FLOW: 'no block style within brackets',
  DUPLICATE_KEY: 'each key only once',
  IMPOSSIBLE: 'valid YAML',
  KEY_OVER_1024_CHARS: 'a key of at most 1024 characters',
  MISSING_CHAR: 'a missing character: a quote, a bracket, a comma, a space, or the colon after a key',
  MULTILINE_IMPLICIT_KEY: 'a key, then a colon and a space, all on one line',
  MULTIPLE_ANCHORS: 'at most one anchor',
  MULTIPLE_DOCS: 'one document in the file',
  MULTIPLE_TAGS: 'at most one tag',
  NON_STRING_KEY: 'a string as the key',
  RESOURCE_EXHAUSTION: 'fewer aliases',
  TAB_AS_INDENT: 'indentation with spaces, not tabs',
  TAG_RESOLVE_FAILED: 'a known tag (!name)',
  UNEXPECTED_TOKEN: 'no such character here (quote strings that contain it)',
};

const ALIASES_MAX = 100;

/**
 * The document, and its syntax errors with their lines. The parser may report the same error for each token of a line.
 */
export function readYaml(text: string) {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    prettyErrors: false,
    lineCounter: lines,
    // FileValue checks this instead, because the parser treats 1 and "1" as different keys, and its message names neither.
    uniqueKeys: false,
  });
  // Warnings count as mistakes, since they are about things that would be ignored, such as an unknown tag.
  const mistakes = [...document.errors, ...document.warnings].map(({ pos, code }) => ({
    line: lines.linePos(pos[0]).line,
    expected: SYNTAX[code],
  }));
  const lineOf = (node: unknown): number =>
    lines.linePos((isNode(node) ? node.range?.[0] : undefined) ?? 0).line;
  let aliases = 0;
  visit(document, {
    Alias(_, node, ancestors) {
      aliases += 1;
      // The number of aliases is limited, because resolving each one walks the whole document.
      if (aliases > ALIASES_MAX) return visit.BREAK;
      const target = node.resolve(document);
      if (target === undefined || ancestors.includes(target)) {
        mistakes.push({ line: lineOf(node), expected: SYNTAX.BAD_ALIAS });
      }
      return undefined;
    },
    Pair(_, { key }) {
      if (isScalar(key) || (isAlias(key) && isScalar(key.resolve(document)))) return;
      mistakes.push({ line: lineOf(key), expected: SYNTAX.NON_STRING_KEY });
    },
  });
  if (aliases > ALIASES_MAX || (mistakes.length === 0 && !isBounded(document))) {
    mistakes.push({ line: 1, expected: SYNTAX.RESOURCE_EXHAUSTION });
  }
  return { document, mistakes, lineOf };
}

/** Whether the document’s aliases can be expanded: nested ones can turn a few lines into gigabytes. */
function isBounded(document: Document): boolean {
  try {
    document.toJS();
    return true;
  } catch (error) {
    if (error instanceof ReferenceError) return false;
    throw error;
  }
}

/** A key as a property name. */
export function keyText(document: Document, key: unknown): string | undefined {
  const scalar = isAlias(key) ? key.resolve(document) : key;
  return isScalar(scalar) ? String(scalar.value ?? '') : undefined;
}
