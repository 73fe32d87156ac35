/** Work on many things in steps, between which whoever has it done may do something else. It knows neither. */

/** Work that says after each step whether it is over; it goes on when it is asked to. */
export type Steps<Result = void> = Generator<undefined, Result, undefined>;

/** The things there are now, so many in each step; what becomes of the others meanwhile is for `act` to see. */
export function inSteps<Thing>(things: Iterable<Thing>, perStep: number, act: (thing: Thing) => void): Steps {
  return unchangedInSteps([...things], perStep, act);
}

/** The same of things that nobody adds to or takes from between the steps: no copy of them is made. */
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
