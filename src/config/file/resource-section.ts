/**
 * Resource attributes in a configuration file: the standard's typed list, which all resources have in common, and the
 * map that a service has of its own.
 */
import type { ResourceAttributes } from '../../otlp/resource.ts';
import { quote } from '../format/redaction.ts';
import { SERVICE_NAME } from '../option-rules.ts';
import type { FileValue } from './file-value.ts';
import { STANDARD_FORMATS } from './standard-table.ts';

type AttributeValue = ResourceAttributes[string];

/** A value of an attribute, and where it was given. */
export interface GivenAttribute {
  readonly value: AttributeValue;
  readonly source: string;
}

export type GivenAttributes = ReadonlyMap<string, GivenAttribute>;

/** Types as the standard names them. */
const EXPECTED = {
  string: 'a text',
  bool: 'true or false',
  int: 'a whole number',
  double: 'a finite number',
  string_array: 'a list of texts',
  bool_array: 'a list of true and false',
  int_array: 'a list of whole numbers',
  double_array: 'a list of finite numbers',
} as const;

type AttributeType = keyof typeof EXPECTED;

const NAME_BYTES_MAX = 255;

/**
 * `resource.attributes` and, less preferred, `resource.attributes_list`.
 * @param named whether services have their names elsewhere, so that here can be none
 */
export function readResource(resource: FileValue | undefined, named: boolean): GivenAttributes {
  const given = new Map<string, GivenAttribute>();
  const add = (name: string, value: AttributeValue, place: FileValue): void => {
    if (named && name === SERVICE_NAME) {
      place.complain('no service.name: the keys of celery.services are the names of the services');
    } else given.set(name, { value, source: place.source });
  };
  const list = resource?.get('attributes_list');
  for (const [name, value] of list?.peek(STANDARD_FORMATS.attributeList) ?? []) {
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
  const attribute = attributeOf(value.value, name);
  if (attribute === undefined) {
    value.complain(`${EXPECTED[name]}${isTyped ? '' : ', or its type beside it'}`, shown(value.value));
  }
  return attribute;
}

/** The map `resource` of a service: what each value is decides its type. */
export function readServiceResource(resource: FileValue | undefined): GivenAttributes {
  const given = new Map<string, GivenAttribute>();
  if (resource === undefined || !resource.expectMap('attributes')) return given;
  for (const [key, value] of resource.entries()) {
    const attribute = untyped(value.value);
    if (key === SERVICE_NAME) value.complain('no such attribute: the key of the service is its name');
    else if (key.trim() === '' || Buffer.byteLength(key) > NAME_BYTES_MAX) {
      value.complain(`a name of at most ${NAME_BYTES_MAX} bytes`);
    } else if (attribute === undefined) {
      value.complain('a text, a number, true, false, or a list of one of these');
    } else given.set(key, { value: attribute, source: value.source });
  }
  return given;
}

function untyped(value: unknown): AttributeValue | undefined {
  const types = ['string', 'bool', 'double', 'string_array', 'bool_array', 'double_array'] as const;
  return types.map((type) => attributeOf(value, type)).find((attribute) => attribute !== undefined);
}

function attributeOf(value: unknown, type: AttributeType): AttributeValue | undefined {
  switch (type) {
    case 'string':
      return isText(value) ? value : undefined;
    case 'bool':
      return isBoolean(value) ? value : undefined;
    case 'int':
      return isWhole(value) ? value : undefined;
    case 'double':
      return isNumber(value) ? value : undefined;
    case 'string_array':
      return listOf(value, isText);
    case 'bool_array':
      return listOf(value, isBoolean);
    case 'int_array':
      return listOf(value, isWhole);
    case 'double_array':
      return listOf(value, isNumber);
  }
}

function listOf<T>(value: unknown, is: (item: unknown) => item is T): T[] | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const fitting = items.filter(is);
  return fitting.length === items.length && fitting.length > 0 ? fitting : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

function shown(value: unknown): string | undefined {
  if (isText(value)) return quote(value);
  return isBoolean(value) || isNumber(value) ? String(value) : undefined;
}
