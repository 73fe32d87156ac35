/** Reads JSON that somebody else wrote: nothing is taken for granted of its shape, and nothing throws. Pure. */

/** Undefined where it is no JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Whether it is JSON is the question that is asked here.
    return undefined;
  }
}

/** An own property of an object; undefined where there is no such thing. */
export function property(holder: unknown, key: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return Reflect.get(holder, key);
}
