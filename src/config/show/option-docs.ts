/** Makes the text of `--help` and the README's table from the table of options. Knows no option by name. */
import { fileOf, flagOf, type KeyedRow, type OptionCommand, type OptionRow, optionRows } from '../options.ts';

/** The README has the table between these lines. */
export const OPTIONS_BEGIN = '<!-- options:begin -->';
export const OPTIONS_END = '<!-- options:end -->';

/** The options of a command, one paragraph each, indented; of all commands where none is given. */
export function optionsHelp(command?: OptionCommand): string {
  return optionRows(command)
    .map(([key, row]) => {
      const head = `  ${flagOf(key)}${row.format.flagAlone ? '' : ' VALUE'}`;
      const only = command === undefined && row.commands.length === 1 ? `; ${row.commands.join()} only` : '';
      const env = row.env.length === 0 ? '' : `; environment: ${row.env.join(', ')}`;
      return [
        head,
        `      ${row.doc.replaceAll('`', '')}`,
        `      Takes ${row.format.expects}${presence(row)}${restriction(row)}${env}${inFile([key, row], '; file: ')}${only}.`,
      ].join('\n');
    })
    .join('\n');
}

/** The table of all options in Markdown, with its markers. */
export function optionsTable(): string {
  const rows = optionRows().map(([key, row]) => [
    code(key),
    [...row.env, flagOf(key)].map(code).join('<br>') + inFile([key, row], '<br>', code),
    row.default === undefined ? '' : code(row.default),
    `${row.doc} Takes ${row.format.expects}${row.required === true ? '; required' : ''}${restriction(row)}.`,
    row.commands.map(code).join(', '),
  ]);
  const lines = [
    ['Option', 'Variables, flag, place in a file', 'Default', 'Meaning', 'Commands'],
    ['---', '---', '---', '---', '---'],
    ...rows,
  ];
  const table = lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
  return `${OPTIONS_BEGIN}\n${table}\n${OPTIONS_END}`;
}

function presence(row: OptionRow<unknown>): string {
  if (row.required === true) return '; required';
  return row.default === undefined ? '' : `; default: ${row.default}`;
}

function restriction({ transport }: OptionRow<unknown>): string {
  if (transport === 'amqp') return '; AMQP only';
  return transport === undefined ? '' : '; not beside a recording';
}

/** Of the export there is more to say than where it is, and the documents do. */
function inFile([key, { scope }]: KeyedRow, before: string, show = (path: string) => path): string {
  const path = scope === 'export' ? undefined : fileOf(key);
  return path === undefined ? '' : before + show(path);
}

function code(text: string): string {
  return `\`${text}\``;
}
