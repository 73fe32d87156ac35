/**
 * Splits TypeScript into tokens, as far as needed to find imports and globals reliably: comments, strings, regular
 * expressions and template texts are never mistaken for code. It does not parse.
 */

export interface Token {
  readonly kind: 'word' | 'string' | 'punctuation' | 'literal';
  /** As written; for a string its content, with escapes unchanged. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

const LEXEME =
  /(?<skip>\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*")|(?<word>[\p{L}_$#][\p{L}\p{N}_$]*)|(?<number>\d[\w.]*)|(?<punctuation>\?\.(?!\d)|\.{3}|=>|[\s\S])/uy;
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/uy;
/** From the opening backtick or a substitution’s end up to the next substitution or the closing backtick. */
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?<end>`|\$\{)/uy;
/** An expression follows these words, so a slash begins a regular expression. */
const BEFORE_EXPRESSION = new Set([
  'return',
  'case',
  'of',
  'in',
  'typeof',
  'void',
  'yield',
  'await',
  'else',
  'do',
]);

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function divides(previous: Token | undefined): boolean {
  if (previous === undefined) return false;
  if (previous.kind === 'word') return !BEFORE_EXPRESSION.has(previous.text);
  return previous.kind !== 'punctuation' || [')', ']', '}'].includes(previous.text);
}

/** The tokens of a source text in order, without comments. @throws Error if a string or template does not end */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  /** For each template that is open: how many braces are open in its substitution. */
  const substitutions: number[] = [];
  let at = 0;
  let line = 1;
  const take = (kind: Token['kind'] | undefined, lexeme: string, value = lexeme) => {
    if (kind !== undefined) tokens.push({ kind, text: value, line });
    line += lexeme.split('\n').length - 1;
    at += lexeme.length;
  };
  const takeTemplate = (opening: string) => {
    take(undefined, opening);
    const match = matchAt(TEMPLATE, text, at);
    if (match === undefined) throw new Error(`line ${line}: a template does not end`);
    take('literal', match[0]);
    if (match.groups?.['end'] === '${') substitutions.push(0);
  };

  while (at < text.length) {
    const regex =
      text[at] === '/' && !divides(tokens.at(-1)) ? matchAt(REGULAR_EXPRESSION, text, at) : undefined;
    const match = matchAt(LEXEME, text, at);
    const { skip, string, word, number, punctuation } = match?.groups ?? {};
    if (skip !== undefined) take(undefined, skip);
    else if (regex !== undefined) take('literal', regex[0]);
    else if (string !== undefined) take('string', string, string.slice(1, -1));
    else if (word !== undefined) take('word', word);
    else if (number !== undefined) take('literal', number);
    else if (punctuation === "'" || punctuation === '"')
      throw new Error(`line ${line}: a string does not end`);
    else if (punctuation === '`') takeTemplate('`');
    else if (punctuation === '}' && substitutions.at(-1) === 0) {
      substitutions.pop();
      takeTemplate('}');
    } else if (punctuation !== undefined) {
      const open = substitutions.pop();
      if (open !== undefined)
        substitutions.push(open + (punctuation === '{' ? 1 : punctuation === '}' ? -1 : 0));
      take('punctuation', punctuation);
    }
  }
  return tokens;
}
