/** Reads JSON of unknown shape without ever throwing. Pure. */

/** Undefined if it is not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Not JSON, which the caller allows for.
    return undefined;
  }
}

/** An own property of an object; undefined if there is none. */
export function property(holder: unknown, key: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return Reflect.get(holder, key);
}
