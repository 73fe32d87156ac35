/** Makes the text of `--help` and the table in docs/configuration.md from the table of options. Knows no option by name. */
import { fileOf, type KeyedRow, type OptionCommand, type OptionRow, optionRows } from '../options.ts';

/** The options of a command, one paragraph each, indented; of all commands where none is given. */
export function optionsHelp(command?: OptionCommand): string {
  return optionRows(command)
    .map(([key, row]) => {
      const head = `  ${row.flag}${row.format.flagAlone ? '' : ' VALUE'}`;
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

/** The table of all options in Markdown. */
export function optionsTable(): string {
  const rows = optionRows().map(([key, row]) => [
    code(key),
    [...row.env, row.flag].map(code).join('<br>') + inFile([key, row], '<br>', code),
    row.default === undefined ? '' : code(row.default),
    `${row.doc} Takes ${row.format.expects}${row.required === true ? '; required' : ''}${restriction(row)}.`,
    row.commands.map(code).join(', '),
  ]);
  const lines = [
    ['Option', 'Variables, flag, place in a file', 'Default', 'Meaning', 'Commands'],
    ['---', '---', '---', '---', '---'],
    ...rows,
  ];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

function presence(row: OptionRow<unknown>): string {
  if (row.required === true) return '; required';
  return row.default === undefined ? '' : `; default: ${row.default}`;
}

function restriction({ brokerOnly }: OptionRow<unknown>): string {
  return brokerOnly === true ? '; not with a recording' : '';
}

/** Of the export there is more to say than where it is, and the documents do. */
function inFile([key, { scope }]: KeyedRow, before: string, show = (path: string) => path): string {
  const path = scope === 'export' ? undefined : fileOf(key);
  return path === undefined ? '' : before + show(path);
}

function code(text: string): string {
  return `\`${text}\``;
}
