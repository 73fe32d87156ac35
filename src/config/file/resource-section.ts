/**
 * Resource attributes in a configuration file: the standard's typed list, common to all resources, and each service's own
 * map.
 */
import type { ResourceAttributes } from '../../otlp/resource.ts';
import { attributeList } from '../format/key-value-list.ts';
import { quote } from '../format/redaction.ts';
import { SERVICE_NAME } from '../option-rules.ts';
import type { FileValue } from './file-value.ts';
import { type AttributeType, STANDARD_FORMATS } from './standard-table.ts';

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

/** A type of the standard: its description, and its reader. */
type TypeRow = readonly [expected: string, read: (value: unknown) => AttributeValue | undefined];

const one =
  <T extends AttributeValue>(is: (value: unknown) => value is T) =>
  (value: unknown) =>
    is(value) ? value : undefined;

const list =
  <T>(is: (item: unknown) => item is T) =>
  (value: unknown): T[] | undefined =>
    Array.isArray(value) && value.length > 0 && value.every(is) ? value : undefined;

const TYPES: Readonly<Record<AttributeType, TypeRow>> = {
  string: ['a string', one(isText)],
  bool: ['true or false', one(isBoolean)],
  int: ['a whole number', one(isWhole)],
  double: ['a finite number', one(isNumber)],
  string_array: ['a list of strings', list(isText)],
  bool_array: ['a list of booleans', list(isBoolean)],
  int_array: ['a list of whole numbers', list(isWhole)],
  double_array: ['a list of finite numbers', list(isNumber)],
};

const NAME_BYTES_MAX = 255;

/**
 * `resource.attributes` take precedence over `resource.attributes_list`.
 * @param named whether services get their names elsewhere, so that `service.name` is a mistake here
 */
export function readResource(resource: FileValue | undefined, named: boolean): GivenAttributes {
  const given = new Map<string, GivenAttribute>();
  const add = (name: string, value: AttributeValue, place: FileValue): void => {
    if (named && name === SERVICE_NAME) {
      place.complain('no service.name: the keys of celery.services name the services');
    } else given.set(name, { value, source: place.source });
  };
  const list = resource?.get('attributes_list');
  for (const [name, value] of list?.peek(attributeList) ?? []) {
    if (list !== undefined) add(name, value, list);
  }
  const seen = new Set<string>();
  for (const entry of resource?.get('attributes')?.items() ?? []) {
    const name = entry.get('name')?.peek(STANDARD_FORMATS.attributeName);
    const value = entry.get('value');
    if (name === undefined || value === undefined) continue;
    if (seen.has(name)) value.complain('each attribute only once');
    seen.add(name);
    // The standard ignores an attribute without a value.
    const attribute = value.isNull ? undefined : readTyped(value, entry.get('type'));
    if (attribute !== undefined) add(name, attribute, value);
  }
  return given;
}

function readTyped(value: FileValue, type: FileValue | undefined): AttributeValue | undefined {
  const isTyped = type !== undefined && !type.isNull;
  const name = isTyped ? type.peek(STANDARD_FORMATS.attributeType) : 'string';
  if (name === undefined) return undefined;
  const [expected, read] = TYPES[name];
  const attribute = read(value.value);
  if (attribute === undefined) {
    const { value: found } = value;
    const shown = isText(found)
      ? quote(found)
      : isBoolean(found) || isNumber(found)
        ? String(found)
        : undefined;
    value.complain(`${expected}${isTyped ? '' : ', or a type'}`, shown);
  }
  return attribute;
}

/** The map `resource` of a service; types follow from the values. */
export function readServiceResource(resource: FileValue | undefined): GivenAttributes {
  const given = new Map<string, GivenAttribute>();
  if (resource === undefined || !resource.expectMap('attributes')) return given;
  for (const [key, value] of resource.entries()) {
    const attribute = untyped(value.value);
    if (key === SERVICE_NAME) value.complain('no service.name: the key of the service is its name');
    else if (key.trim() === '' || Buffer.byteLength(key) > NAME_BYTES_MAX) {
      value.complain(`a name of at most ${NAME_BYTES_MAX} bytes`);
    } else if (attribute === undefined) {
      value.complain('a string, a number, a boolean, or a list of one of these types');
    } else given.set(key, { value: attribute, source: value.source });
  }
  return given;
}

function untyped(value: unknown): AttributeValue | undefined {
  return Object.values(TYPES)
    .map(([, read]) => read(value))
    .find((attribute) => attribute !== undefined);
}
