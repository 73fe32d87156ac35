/** The error of a source that refuses us, or of our own files. A retry alone does not help. */

/** The message says what was refused, and what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
