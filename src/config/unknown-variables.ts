/**
 * Finds unknown variables `CELERY_OTEL_…`. Each is a mistake, like an unknown flag, because the user expects an effect. It
 * prints no values.
 */
import { nearest } from '../text/suggestion.ts';
import type { Mistake } from './mistake.ts';
import { optionRows } from './options.ts';

const PREFIX = 'CELERY_OTEL_';

/**
 * Variables that Kubernetes and Docker define for a service named `celery-otel` or `celery-otel-…`: `…_PORT` with an address
 * identifies the service, and `OF_SERVICE` matches the rest of the names of its variables.
 */
const PORT = /^(CELERY_OTEL(?:_[A-Z0-9_]+)?)_PORT$/u;
const ADDRESS = /^(?:tcp|udp|sctp):\/\//u;
const OF_SERVICE =
  /^_(?:NAME|ENV_.+|SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?)?)$/u;

/** Names that may be printed. */
const PRINTABLE = /^[A-Z0-9_]{1,80}$/iu;

/**
 * Unknown variables in an environment; empty ones are ignored.
 * @param used variables that a configuration file refers to
 */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  used: ReadonlySet<string> = new Set(),
): readonly Mistake[] {
  const known = new Set(optionRows().flatMap(([, row]) => row.env));
  // The prefixes of the variables of such services.
  const services = Object.entries(env).flatMap(([name, text = '']) =>
    ADDRESS.test(text) ? (PORT.exec(name)?.slice(1) ?? []) : [],
  );
  const isOfService = (name: string): boolean =>
    services.some((service) => name.startsWith(service) && OF_SERVICE.test(name.slice(service.length)));
  return Object.entries(env)
    .filter(([name, text]) => name.startsWith(PREFIX) && (text ?? '').trim() !== '')
    .filter(([name]) => !known.has(name) && !used.has(name) && !isOfService(name))
    .map(([name]) => mistakeIn(name));
}

function mistakeIn(name: string): Mistake {
  const meant = intended();
  const near = meant.get(nearest(name.slice(PREFIX.length).toUpperCase(), [...meant.keys()]) ?? '');
  return {
    path: 'environment',
    source: PRINTABLE.test(name) ? name : `a variable ${PREFIX}…`,
    expected: `a known variable${near === undefined ? '' : ` (did you mean ${near}?)`}`,
  };
}

/** For each name without its prefix, the variable that the user may mean: of celery-otel, Celery or OpenTelemetry. */
function intended(): ReadonlyMap<string, string> {
  const words = optionRows().flatMap(([key, { env }]) => [
    ...env.map((name) => [name.replace(/^(?:CELERY_OTEL|CELERY|OTEL)_/u, ''), name] as const),
    ...env.slice(0, 1).map((name) => [key.toUpperCase(), name] as const),
  ]);
  return new Map(words);
}
