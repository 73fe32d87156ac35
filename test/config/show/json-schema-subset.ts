/** Validates documents by the subset of JSON Schema that our schema uses; an unknown keyword is an error. */
import assert from 'node:assert/strict';

type Json = Readonly<Record<string, unknown>>;

const KNOWN = new Set([
  ...['$schema', '$defs', '$ref', 'title', 'description', 'default', 'type', 'enum', 'anyOf', 'pattern'],
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'items', 'minItems', 'required'],
  ...['properties', 'patternProperties', 'additionalProperties', 'minProperties', 'maxProperties'],
]);

/** Paths of values that are invalid by the schema. */
export function violations(root: Json, value: unknown): readonly string[] {
  return check(root, root, value, '$');
}

function check(root: Json, schema: unknown, value: unknown, path: string): readonly string[] {
  if (schema === false) return [path];
  if (schema === true) return [];
  assert.ok(isMap(schema), path);
  for (const key of Object.keys(schema)) assert.ok(KNOWN.has(key), `${key} at ${path}`);
  const within = [...checkParts(root, schema, value, path)];
  const { $ref: ref, anyOf } = schema;
  if (typeof ref === 'string') {
    const defs = root['$defs'];
    assert.ok(isMap(defs));
    within.push(...check(root, defs[ref.replace('#/$defs/', '')], value, path));
  }
  if (Array.isArray(anyOf) && !anyOf.some((one: unknown) => check(root, one, value, path).length === 0))
    within.push(path);
  return isScalarFine(schema, value) ? within : [path, ...within];
}

function isScalarFine(schema: Json, value: unknown): boolean {
  const types = [schema['type'] ?? []].flat();
  if (types.length > 0 && !types.some((type) => isOf(String(type), value))) return false;
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(value)) return false;
  const bounds: readonly [limit: string, holds: (limit: number) => boolean][] = [
    ['minimum', (limit) => typeof value !== 'number' || value >= limit],
    ['maximum', (limit) => typeof value !== 'number' || value <= limit],
    ['exclusiveMinimum', (limit) => typeof value !== 'number' || value > limit],
    ['minLength', (limit) => typeof value !== 'string' || value.length >= limit],
    ['maxLength', (limit) => typeof value !== 'string' || value.length <= limit],
    ['minItems', (limit) => !Array.isArray(value) || value.length >= limit],
    ['minProperties', (limit) => !isMap(value) || Object.keys(value).length >= limit],
    ['maxProperties', (limit) => !isMap(value) || Object.keys(value).length <= limit],
  ];
  const { pattern } = schema;
  if (typeof pattern === 'string' && typeof value === 'string' && !new RegExp(pattern, 'u').test(value))
    return false;
  return bounds.every(([key, holds]) => schema[key] === undefined || holds(Number(schema[key])));
}

function* checkParts(root: Json, schema: Json, value: unknown, path: string): Generator<string> {
  if (Array.isArray(value) && schema['items'] !== undefined) {
    for (const [index, item] of value.entries())
      yield* check(root, schema['items'], item, `${path}[${index}]`);
  }
  if (!isMap(value)) return;
  const [properties = {}, patterns = {}] = [schema['properties'], schema['patternProperties']];
  assert.ok(isMap(properties) && isMap(patterns));
  for (const [key, item] of Object.entries(value)) {
    const own = Object.hasOwn(properties, key) ? [properties[key]] : [];
    const fitting = Object.entries(patterns).flatMap(([pattern, one]) =>
      new RegExp(pattern, 'u').test(key) ? [one] : [],
    );
    const rest = own.length + fitting.length === 0 ? [schema['additionalProperties'] ?? true] : [];
    for (const one of [...own, ...fitting, ...rest]) yield* check(root, one, item, `${path}.${key}`);
  }
  for (const key of [schema['required'] ?? []].flat()) {
    if (!Object.hasOwn(value, String(key))) yield `${path}.${String(key)}`;
  }
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isMap(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

function isMap(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
