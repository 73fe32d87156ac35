/**
 * Reads the environment variables that hold a map of Celery in JSON: `CELERY_BROKER_TRANSPORT_OPTIONS` and
 * `CELERY_BROKER_USE_SSL`. The keys are read as in a file; a variable or flag for a single key takes precedence. It prints no
 * values.
 */
import { Document } from 'yaml';
import { readBroker } from './file/broker-section.ts';
import { addText } from './file/celery-section.ts';
import { FileValue } from './file/file-value.ts';
import type { Mistake } from './mistake.ts';
import type { Given } from './option-rules.ts';
import { type OptionKey, servicePath, serviceRows, TRANSPORT_OPTIONS } from './options.ts';

const VARIABLES = new Map([
  [TRANSPORT_OPTIONS, 'CELERY_BROKER_TRANSPORT_OPTIONS'],
  ['broker_use_ssl', 'CELERY_BROKER_USE_SSL'],
]);

export const MAP_VARIABLES: readonly string[] = [...VARIABLES.values()];

/** @param mistakes collects the mistakes in the maps */
export function readCeleryMaps(env: Readonly<Record<string, string | undefined>>, mistakes: Mistake[]) {
  const values = new Map<string, FileValue>();
  for (const [key, variable] of VARIABLES) {
    const text = env[variable]?.trim() ?? '';
    const value = text === '' ? undefined : jsonValue(key, variable, text, mistakes);
    if (value !== undefined) values.set(key, value);
  }
  const given = new Map<OptionKey, Given>();
  for (const [key] of serviceRows()) {
    const [map = '', ...rest] = servicePath(key);
    if (rest.length > 0) addText(given, key, values.get(map)?.find(rest));
  }
  return {
    /** The options that keys of the maps set. */
    given: given as ReadonlyMap<OptionKey, Given>,
    /** The broker with its TLS; undefined if no variable is set. @param addresses the text of `broker_url`, if valid */
    broker: (addresses: string | undefined) =>
      values.size === 0 ? undefined : readBroker({ get: (key) => values.get(key) }, addresses),
  };
}

function jsonValue(key: string, name: string, text: string, mistakes: Mistake[]): FileValue | undefined {
  const json = parsed(text);
  if (json === undefined) {
    const expected =
      key === TRANSPORT_OPTIONS
        ? 'a map in JSON, such as {"visibility_timeout": 43200}'
        : 'true, false, or a map in JSON';
    mistakes.push({ path: key, source: name, expected: `${expected}; names and texts have double quotes` });
    return undefined;
  }
  const document = new Document(json.value);
  return new FileValue({ document, unset: new Map(), mistakes, name, lineOf: () => 0 }, [key]);
}

/** JSON, or Python’s own `True`, `False` and `None`. */
function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    const word = text.toLowerCase();
    if (word === 'none') return { value: null };
    const value: unknown = JSON.parse(word === 'true' || word === 'false' ? word : text);
    return { value };
  } catch {
    // The message of JSON.parse is not used, since it quotes the text, which may be secret.
    return undefined;
  }
}
