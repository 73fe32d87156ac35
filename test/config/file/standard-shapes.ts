/** The keys of the standard, each with its shape. */

import type { Shape } from '../../../src/config/file/shape.ts';
import { FILE } from '../../../src/config/file/standard-section.ts';

/** Path of a key, with [] for any index → its shape. */
export const STANDARD: ReadonlyMap<string, Shape<unknown>> = new Map(
  rowsIn(FILE, '').filter(([path]) => path !== 'celery'),
);

function rowsIn({ keys = {}, items }: Shape<unknown>, path: string): (readonly [string, Shape<unknown>])[] {
  return [
    ...Object.entries(keys).flatMap(([key, shape]) => {
      const at = path === '' ? key : `${path}.${key}`;
      return [[at, shape] as const, ...rowsIn(shape, at)];
    }),
    ...(items === undefined ? [] : [[`${path}[]`, items] as const, ...rowsIn(items, `${path}[]`)]),
  ];
}
