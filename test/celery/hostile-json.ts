/** Texts with tokens that JSON has not, each of about that length and long to parse where time is not linear. */
export function hostileJson(length: number): readonly string[] {
  return [
    `[NaN, "${'x'.repeat(length)}"]`,
    `[NaN, "${'\\"'.repeat(length / 2)}"]`,
    `[NaN, "${'\\"'.repeat(length / 2)}`,
    `NaN${'"'.repeat(length)}`,
    `NaN${'\\'.repeat(length)}`,
    `NaN${'-'.repeat(length)}`,
    `[${'NaN,'.repeat(length / 4)}NaN]`,
    `NaN${'['.repeat(length)}`,
  ];
}
