/** Generates the help of commands from the table of options. It knows only the common options by name. */
import { KINDS } from '../../broker/kinds.ts';
import { targetOf } from '../option-rules.ts';
import {
  fileOf,
  flagOf,
  type KeyedRow,
  type OptionCommand,
  type OptionKey,
  type OptionRow,
  optionRows,
} from '../options.ts';

/** The options that most people set: first in the help, and listed in the README. */
export const COMMON_OPTIONS: readonly OptionKey[] = [
  'broker_url',
  'service_name',
  'otlp_endpoint',
  'otlp_protocol',
  'otlp_headers',
  'otlp_temporality_preference',
  'metric_export_interval',
  'resource_attributes',
  'worker_timeout',
  'log_level',
];

interface OptionGroup {
  readonly title: string;
  readonly has: (row: OptionRow<unknown>) => boolean;
}

/** The groups in the order of the help. An option is listed in the first group that has it. */
const GROUPS: readonly OptionGroup[] = [
  ...KINDS.map(({ title, options }) => ({
    title,
    has: ({ transport }: OptionRow<unknown>) => transport !== undefined && Object.hasOwn(options, transport),
  })),
  {
    title: 'Traces and logs',
    has: ({ scope, signal = 'metrics' }) => scope === 'signal' || signal !== 'metrics',
  },
  { title: 'Export', has: ({ scope }) => scope === 'export' || scope === 'section' },
  { title: 'Brokers and services', has: ({ scope }) => scope === 'service' },
  { title: 'Clusters', has: ({ scope }) => scope === 'cluster' },
  { title: 'The process', has: ({ scope }) => scope === 'process' },
  { title: 'This command', has: ({ scope }) => scope === 'command' },
];

/** The options of a command, one indented paragraph each: the common ones first, then by groups. */
export function optionsHelp(command: OptionCommand): string {
  const rows = optionRows(command);
  const common = COMMON_OPTIONS.flatMap((key) => rows.filter(([other]) => other === key));
  const left = rows.filter((row) => !common.includes(row));
  const groups = GROUPS.map(({ title }) => {
    const ofGroup = left.filter(([, row]) => GROUPS.find((group) => group.has(row))?.title === title);
    return [title, ofGroup] as const;
  });
  return [['Common', common] as const, ...groups]
    .filter(([, ofGroup]) => ofGroup.length > 0)
    .map(([title, ofGroup]) => `${title}:\n${ofGroup.map(paragraph).join('\n')}`)
    .join('\n\n');
}

function paragraph([key, row]: KeyedRow): string {
  const env = row.env.length === 0 ? '' : `; environment: ${row.env.join(', ')}`;
  // The export options are left to the documents, because their paths need explanation.
  const path = row.scope === 'export' ? undefined : fileOf(key);
  const file = path === undefined ? '' : `; file: ${path}`;
  return [
    `  ${flagOf(key)}${row.format.schema.type === 'boolean' ? '' : ' VALUE'}`,
    `      ${row.doc.replaceAll('`', '')}`,
    `      Takes ${row.format.expects}${presence(row)}${restriction(row)}${env}${file}.`,
  ].join('\n');
}

function presence(row: OptionRow<unknown>): string {
  if (row.required === true) return '; required';
  return row.default === undefined ? '' : `; default: ${row.default}`;
}

export function restriction({ transport }: OptionRow<unknown>): string {
  return transport === undefined ? '' : `; ${targetOf(transport).only}`;
}
