/** Reads JSON of unknown shape without ever throwing. Pure. */

/** @returns undefined if the bytes are not JSON */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** The value of an object’s own property; undefined if it has none. */
export function property(holder: unknown, key: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return Reflect.get(holder, key);
}
