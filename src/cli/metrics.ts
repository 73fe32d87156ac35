/** `celery-otel metrics`: prints the table of metrics as Markdown or JSON. It starts nothing. */
import { envOf, flagOf, type OptionKey, type OptionValues } from '../config/options.ts';
import { readOptions } from '../config/read-options.ts';
import { metricDocs, metricJson } from '../meter/metric-docs.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';
import { print, reportMistakes } from './print.ts';

const PRINTED: Readonly<Record<OptionValues['format'], () => string>> = {
  md: () =>
    metricDocs({
      off: namesOf('metrics_disabled'),
      on: namesOf('metrics_enabled'),
      optIn: namesOf('metric_attributes_enabled'),
    }),
  json: metricJson,
};

const namesOf = (key: OptionKey) => ({ flag: flagOf(key), env: envOf(key) });

export async function metrics(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = readOptions('metrics', { argv, env: io.env });
  if (!read.ok) return reportMistakes('metrics', read.mistakes, io);
  print(io.stdout, PRINTED[read.options.need('format')]());
  return EXIT_CODE.ok;
}
