/** The minimal sources of a command, for tests about something else. */
import type { OptionCommand } from '../../src/config/options.ts';
import type { OptionSources } from '../../src/config/read-options.ts';

const LEAST: Readonly<Record<OptionCommand, OptionSources>> = {
  run: { argv: [], env: { CELERY_BROKER_URL: 'amqp://rabbit', OTEL_SERVICE_NAME: 'shop' } },
  config: { argv: [], env: { CELERY_BROKER_URL: 'amqp://rabbit', OTEL_SERVICE_NAME: 'shop' } },
  check: { argv: [], env: { CELERY_BROKER_URL: 'amqp://rabbit', OTEL_SERVICE_NAME: 'shop' } },
  trace: { argv: [], env: { CELERY_BROKER_URL: 'amqp://rabbit', OTEL_SERVICE_NAME: 'shop' } },
  top: { argv: [], env: { CELERY_BROKER_URL: 'amqp://rabbit', OTEL_SERVICE_NAME: 'shop' } },
  record: { argv: ['--out=events.ndjson'], env: { CELERY_BROKER_URL: 'amqp://rabbit' } },
  metrics: { argv: [], env: {} },
};

/** Valid sources of a command, with more variables and flags; a flag of is given again replaces the first. */
export function sources(command: OptionCommand, more: Partial<OptionSources>): OptionSources {
  const { argv, env } = LEAST[command];
  const flags = (more.argv ?? []).map((argument) => argument.split('=', 1)[0]);
  const kept = argv.filter((argument) => !flags.includes(argument.split('=', 1)[0]));
  return { argv: [...kept, ...(more.argv ?? [])], env: { ...env, ...more.env } };
}
