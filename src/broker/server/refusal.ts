/** The error of a server that refuses us, or about our own unreadable files. A retry alone does not help. */

/** The message contains what was refused, and what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
