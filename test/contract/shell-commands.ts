/**
 * The shell commands of a Markdown document: those in `sh` blocks, and inline code that begins like one of ours.
 * It parses texts and runs nothing.
 */

export interface ShellCommand {
  /** As the document has it, for messages. */
  readonly text: string;
  /** Assigned before the command, or exported earlier in its block. */
  readonly env: ReadonlyMap<string, string>;
  /** The program and its arguments, without quotes; empty where only variables are assigned. */
  readonly words: readonly string[];
  /** In prose, where required arguments may be missing. */
  readonly isMentioned: boolean;
}

const BLOCK = /^( *)```sh\n([\s\S]*?)^ *```$/gmu;
const ANY_BLOCK = /^ *(```|~~~)[\s\S]*?^ *\1$/gmu;
const OURS_IN_A_LINE = /`((?:npm (?:run|test)|npx celery-otel|celery-otel) [^`]+)`/gu;
/** A quoted string, a separator of commands, a comment up to the end of the line, or a plain word. */
const TOKEN =
  /[^\S\n]*(?:(?<between>&&|\|\|?|;|&|\n)|(?<comment>(?<=\s|^)#[^\n]*)|(?<word>(?:'[^']*'|"[^"]*"|[^\s;|&'"])+))/gu;
const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/u;

/** Every command of a document, in order; inline ones come last. */
export function shellCommands(document: string): readonly ShellCommand[] {
  const blocks = [...document.matchAll(BLOCK)].map(([, , code = '']) => code);
  const spans = [...document.replaceAll(ANY_BLOCK, '').matchAll(OURS_IN_A_LINE)].map(([, code = '']) => code);
  return [
    ...blocks.flatMap((code) => commandsOf(code, false)),
    ...spans.flatMap((code) => commandsOf(code, true)),
  ];
}

function commandsOf(code: string, isMentioned: boolean): readonly ShellCommand[] {
  const commands: ShellCommand[] = [];
  const exported = new Map<string, string>();
  for (const words of splitCommands(code.replaceAll(/\\\n/gu, ' '))) {
    const isExport = words[0] === 'export';
    const rest = isExport ? words.slice(1) : words;
    const first = rest.findIndex((word) => !ASSIGNMENT.test(word));
    const count = first === -1 ? rest.length : first;
    const assigned = rest.slice(0, count).flatMap((word) => {
      const [, name = '', value = ''] = ASSIGNMENT.exec(word) ?? [];
      return [[name, value] as const];
    });
    if (isExport) for (const [name, value] of assigned) exported.set(name, value);
    const env = new Map([...exported, ...assigned]);
    commands.push({ text: words.join(' '), env, words: rest.slice(count), isMentioned });
  }
  return commands;
}

function splitCommands(code: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (const { groups } of code.matchAll(TOKEN)) {
    if (groups?.['between'] !== undefined) commands.push([]);
    else if (groups?.['word'] !== undefined) {
      commands.at(-1)?.push(groups['word'].replaceAll(/'([^']*)'|"([^"]*)"/gu, '$1$2'));
    }
  }
  return commands.filter((words) => words.length > 0);
}
