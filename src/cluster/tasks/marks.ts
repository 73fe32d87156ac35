/** Bit flags in one number, since each field of an object costs eight bytes. Pure. */

/** The number with that bit set or cleared. A function, since a private method costs each object eight bytes. */
export function marked(marks: number, mark: number, set: boolean): number {
  return set ? marks | mark : marks & ~mark;
}
