/** Reads a number for tests from the environment. */

/** @throws if it is not above zero: with none of something, tests would pass */
export function positive(variable: string, otherwise: number): number {
  const text = process.env[variable];
  const value = text === undefined ? otherwise : Number(text);
  if (!(value > 0 && Number.isFinite(value)))
    throw new Error(`${variable} must be a number above zero, not "${text}"`);
  return value;
}
