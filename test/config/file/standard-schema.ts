/** The JSON schema of the standard's configuration file, from the package that validates with it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export interface SchemaNode {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, SchemaNode>>;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

/** Every path of the schema, with [] for an index; paths below one for which `stop` holds are omitted. */
export function standardPaths(stop: (path: string) => boolean): readonly string[] {
  const root = readSchema();
  const resolve = (node: SchemaNode): SchemaNode => {
    const name = node.$ref?.replace('#/$defs/', '');
    const found = name === undefined ? node : root.$defs?.[name];
    assert.ok(found !== undefined, node.$ref);
    return found;
  };
  const walk = (node: SchemaNode, path: string): readonly string[] => {
    if (path !== '' && stop(path)) return [path];
    const { properties = {}, items } = resolve(node);
    const within = Object.entries(properties).flatMap(([key, value]) =>
      walk(value, path === '' ? key : `${path}.${key}`),
    );
    return [
      ...(path === '' ? [] : [path]),
      ...within,
      ...(items === undefined ? [] : walk(items, `${path}[]`)),
    ];
  };
  return walk(root, '');
}

function readSchema(): SchemaNode {
  const index = import.meta.resolve('@opentelemetry/configuration');
  const text = readFileSync(new URL('generated/validator.mjs', index), 'utf8');
  const [, json] = /const schema31 = (\{[\s\S]*?\n\t\});/.exec(text) ?? [];
  assert.ok(json !== undefined, 'the package has its schema elsewhere');
  return JSON.parse(json);
}
