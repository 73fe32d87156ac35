/**
 * Variables `CELERY_OTEL_…` that no option has: each is a mistake, as an unknown flag is, since whoever sets one believes
 * that it does something. It repeats no value.
 */
import { nearest } from './format/near-miss.ts';
import { ENVIRONMENT, type Mistake } from './mistake.ts';
import { optionRows } from './options.ts';

/** Nobody but us has variables that begin so. */
const PREFIX = 'CELERY_OTEL_';

/**
 * What Kubernetes and Docker tell of a service `celery-otel` or `celery-otel-…` to all that runs beside it, asked or not:
 * `CELERY_OTEL_SERVICE_HOST`, `CELERY_OTEL_PORT_4317_TCP_ADDR` and so on.
 */
const SERVICE_LINK =
  /^CELERY_OTEL_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$/u;

/** Longer ones, and those with anything else in them, are not repeated. */
const PRINTABLE = /^[A-Z0-9_]{1,80}$/iu;

/**
 * What is wrong with the names in an environment; a variable that is empty is one that is not set.
 * @param used variables with a use of their own: a configuration file refers to them
 */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  used: ReadonlySet<string> = new Set(),
): readonly Mistake[] {
  const known = new Set(optionRows().flatMap(([, row]) => row.env));
  return Object.entries(env)
    .filter(([name, text]) => name.startsWith(PREFIX) && (text ?? '').trim() !== '')
    .filter(([name]) => !known.has(name) && !used.has(name) && !SERVICE_LINK.test(name))
    .map(([name]) => mistakeIn(name));
}

function mistakeIn(name: string): Mistake {
  const meant = intended();
  const near = meant.get(nearest(name.slice(PREFIX.length).toUpperCase(), [...meant.keys()]) ?? '');
  return {
    path: ENVIRONMENT,
    source: PRINTABLE.test(name) ? name : `a variable ${PREFIX}…`,
    value: undefined,
    expected: `a variable that there is${near === undefined ? '' : ` (did you mean ${near}?)`}`,
  };
}

/** What may stand after the prefix of a slip → the variable that was meant: one of ours, of Celery or of OpenTelemetry. */
function intended(): ReadonlyMap<string, string> {
  const words = optionRows().flatMap(([key, { env }]) => [
    ...env.map((name) => [name.replace(/^(?:CELERY_OTEL|CELERY|OTEL)_/u, ''), name] as const),
    ...env.slice(0, 1).map((name) => [key.toUpperCase(), name] as const),
  ]);
  return new Map(words);
}
