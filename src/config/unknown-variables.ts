/**
 * Variables `CELERY_OTEL_…` that no option has: each is a mistake, as an unknown flag is, since whoever sets one believes
 * that it does something. It repeats no value.
 */
import { nearest } from './format/near-miss.ts';
import { ENVIRONMENT, type Mistake } from './mistake.ts';
import { optionRows } from './options.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Nobody but us has variables that begin so. */
const PREFIX = 'CELERY_OTEL_';

/**
 * What Kubernetes and Docker tell of a service `celery-otel` or `celery-otel-…` to all that runs beside it, asked or not:
 * an address in `…_PORT`, and only with that the others.
 */
const PORT = /^(CELERY_OTEL(?:_[A-Z0-9_]+)?)_PORT$/u;
const ADDRESS = /^(?:tcp|udp|sctp):\/\//u;
const OF_SERVICE =
  /^_(?:NAME|ENV_.+|SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?)?)$/u;

/** Longer ones, and those with anything else in them, are not repeated. */
const PRINTABLE = /^[A-Z0-9_]{1,80}$/iu;

/**
 * What is wrong with the names in an environment; a variable that is empty is one that is not set.
 * @param used variables with a use of their own: a configuration file refers to them
 */
export function unknownVariables(
  env: Environment,
  used: ReadonlySet<string> = new Set(),
): readonly Mistake[] {
  const known = new Set(optionRows().flatMap(([, row]) => row.env));
  const services = servicesIn(env);
  const isOfService = (name: string): boolean =>
    services.some((service) => name.startsWith(service) && OF_SERVICE.test(name.slice(service.length)));
  return Object.entries(env)
    .filter(([name, text]) => name.startsWith(PREFIX) && (text ?? '').trim() !== '')
    .filter(([name]) => !known.has(name) && !used.has(name) && !isOfService(name))
    .map(([name]) => mistakeIn(name));
}

/** What the names of their variables begin with. */
function servicesIn(env: Environment): readonly string[] {
  return Object.entries(env).flatMap(([name, text]) => {
    const service = PORT.exec(name)?.[1];
    return service !== undefined && ADDRESS.test(text ?? '') ? [service] : [];
  });
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
