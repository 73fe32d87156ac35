/**
 * Reads resource attributes in a configuration file: the standard's typed list, which applies to all resources, and the
 * map of each service.
 */
import type { ResourceAttributes } from '../../otlp/resource.ts';
import { line, oneOf } from '../format/formats.ts';
import { attributeList } from '../format/key-value-list.ts';
import { quote } from '../format/redaction.ts';
import { SERVICE_NAME } from '../option-rules.ts';
import type { FileValue } from './file-value.ts';
import { any, list, map, mapOf, placed, type Read, refused, required, scalar } from './shape.ts';

type AttributeValue = ResourceAttributes[string];

/** The value of an attribute and its origin. */
export interface GivenAttribute {
  readonly value: AttributeValue;
  readonly source: string;
}

export type GivenAttributes = ReadonlyMap<string, GivenAttribute>;

const isText = (value: unknown): value is string => typeof value === 'string';
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

const isListOf =
  <T>(is: (item: unknown) => item is T) =>
  (value: unknown): value is T[] =>
    Array.isArray(value) && value.length > 0 && value.every(is);

/** The standard's types, each with what it expects, and a check of a value. */
const TYPES = new Map<string, readonly [expected: string, is: (value: unknown) => value is AttributeValue]>([
  ['string', ['a string', isText]],
  ['bool', ['true or false', isBoolean]],
  ['int', ['a whole number', isWhole]],
  ['double', ['a finite number', isNumber]],
  ['string_array', ['a list of strings', isListOf(isText)]],
  ['bool_array', ['a list of booleans', isListOf(isBoolean)]],
  ['int_array', ['a list of whole numbers', isListOf(isWhole)]],
  ['double_array', ['a list of finite numbers', isListOf(isNumber)]],
]);

const isAttribute = (value: unknown): value is AttributeValue =>
  [...TYPES.values()].some(([, is]) => is(value));

const attributeName = line(255);

export const RESOURCE = map({
  attributes: list(
    placed(
      map({
        name: required(scalar(attributeName), attributeName.expects),
        value: required(any, 'the value of the attribute'),
        type: scalar(oneOf([...TYPES.keys()])),
      }),
    ),
  ),
  attributes_list: placed(scalar(attributeList)),
  schema_url: refused('celery-otel sets it'),
  'detection/development': refused('what is exported describes Celery, not this host or this process'),
});

/**
 * `resource.attributes` take precedence over `resource.attributes_list`.
 * @param named whether `celery.services` names the services, so that `service.name` is a mistake here
 */
export function readResource(resource: Read<typeof RESOURCE> | undefined, named: boolean): GivenAttributes {
  const given = new Map<string, GivenAttribute>();
  const add = (name: string, value: AttributeValue, place: FileValue): void => {
    if (named && name === SERVICE_NAME) {
      place.complain('no service.name: the keys of celery.services name the services');
    } else given.set(name, { value, source: place.source });
  };
  const { attributes = [], attributes_list: list } = resource ?? {};
  if (list !== undefined) for (const [name, value] of list.value) add(name, value, list.place);
  const seen = new Set<string>();
  for (const { place, value: entry } of attributes) {
    const { name, value, type } = entry;
    const isMistyped = type === undefined && place.get('type')?.isNull === false;
    if (name === undefined || value === undefined || isMistyped) continue;
    if (seen.has(name)) value.complain('each attribute only once');
    seen.add(name);
    const [expected, is] = TYPES.get(type ?? 'string') ?? ['', isText];
    const found = value.value;
    if (is(found)) add(name, found, value);
    // The standard ignores an attribute without a value.
    else if (!value.isNull) {
      const shown = isText(found)
        ? quote(found)
        : isBoolean(found) || isNumber(found)
          ? `${found}`
          : undefined;
      value.complain(type === undefined ? `${expected}, or a type` : expected, shown);
    }
  }
  return given;
}

/** The map `resource` of a service, in which the values determine the types. */
export const SERVICE_RESOURCE = mapOf('attributes', (key, place): [string, GivenAttribute] | undefined => {
  const { value, source } = place;
  if (key === SERVICE_NAME) return place.complain('no service.name: the key of the service is its name');
  if (key.trim() === '' || !attributeName.read(key).ok) {
    return place.complain(`a name: ${attributeName.expects}`);
  }
  if (isAttribute(value)) return [key, { value, source }];
  return place.complain('a string, a number, a boolean, or a list of one of these types');
});
