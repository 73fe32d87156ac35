/** Generates `--help` from the table of options. It knows no option by name. */
import {
  fileOf,
  flagOf,
  type OptionBroker,
  type OptionCommand,
  type OptionRow,
  optionRows,
} from '../options.ts';

/** One indented paragraph per option, for one command or for all. */
export function optionsHelp(command?: OptionCommand): string {
  return optionRows(command)
    .map(([key, row]) => {
      const head = `  ${flagOf(key)}${row.format.schema.type === 'boolean' ? '' : ' VALUE'}`;
      const only = command === undefined && row.commands.length === 1 ? `; ${row.commands.join()} only` : '';
      const env = row.env.length === 0 ? '' : `; environment: ${row.env.join(', ')}`;
      // The export options are left to the documents, because their paths need explanation.
      const path = row.scope === 'export' ? undefined : fileOf(key);
      const file = path === undefined ? '' : `; file: ${path}`;
      return [
        head,
        `      ${row.doc.replaceAll('`', '')}`,
        `      Takes ${row.format.expects}${presence(row)}${restriction(row)}${env}${file}${only}.`,
      ].join('\n');
    })
    .join('\n');
}

function presence(row: OptionRow<unknown>): string {
  if (row.required === true) return '; required';
  return row.default === undefined ? '' : `; default: ${row.default}`;
}

const RESTRICTIONS: Readonly<Record<OptionBroker, string>> = {
  any: '; not with a recording',
  amqp: '; AMQP only',
  redis: '; Redis only',
  sentinel: '; behind sentinels only',
};

export function restriction({ transport }: OptionRow<unknown>): string {
  return transport === undefined ? '' : RESTRICTIONS[transport];
}
