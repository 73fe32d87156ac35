/** Splits work on many items into steps, so that the caller can do other work between them. */

/** Work that pauses after each step. */
export type Steps<Result = void> = Generator<undefined, Result, undefined>;

/** Works on a copy of the items; `act` must check whether an item is still valid. */
export function inSteps<Thing>(things: Iterable<Thing>, perStep: number, act: (thing: Thing) => void): Steps {
  return unchangedInSteps([...things], perStep, act);
}

/** The same without a copy: the items must not change between the steps. */
export function* unchangedInSteps<Thing>(
  things: Iterable<Thing>,
  perStep: number,
  act: (thing: Thing) => void,
): Steps {
  let left = perStep;
  for (const thing of things) {
    if (left === 0) {
      yield;
      left = perStep;
    }
    act(thing);
    left -= 1;
  }
}
