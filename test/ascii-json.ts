/** JSON as Python's `json` writes it by default: all but ASCII is escaped. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[^\x20-\x7e]/gu, (wide) =>
    Array.from(
      { length: wide.length },
      (_, at) => `\\u${wide.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
