/** Splits work on many items into steps, so that the caller can do other work between them. */

/** Work that yields after each step, and returns its result at the end. */
export type Steps<Result = void> = Generator<undefined, Result, undefined>;

/** Calls `act` for a copy of the items, `perStep` of them in each step; `act` must check whether an item is still valid. */
export function inSteps<Thing>(things: Iterable<Thing>, perStep: number, act: (thing: Thing) => void): Steps {
  return unchangedInSteps([...things], perStep, act);
}

/** Like `inSteps`, but without a copy: the items must not change between the steps. */
export function* unchangedInSteps<Thing>(
  things: Iterable<Thing>,
  perStep: number,
  act: (thing: Thing) => void,
): Steps {
  let remainingInStep = perStep;
  for (const thing of things) {
    if (remainingInStep === 0) {
      yield;
      remainingInStep = perStep;
    }
    act(thing);
    remainingInStep -= 1;
  }
}
