/**
 * When the last event of each task arrived, in whole seconds of listened time. It takes four bytes for each task; an object
 * field takes eight, or twenty-four with fractions. It concludes nothing.
 */

const TASKS_AT_FIRST = 1024;

export class LastEvents {
  readonly #tasksMax: number;
  #seconds = new Int32Array(TASKS_AT_FIRST);

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** An event of the task at that place has arrived. */
  note(place: number, listenedMs: number): void {
    if (place >= this.#seconds.length) this.#grow(place);
    this.#seconds[place] = Math.floor(listenedMs / 1000);
  }

  /** In listened time, ms; up to a second too early. */
  ms(place: number): number {
    return (this.#seconds[place] ?? 0) * 1000;
  }

  #grow(place: number): void {
    let tasks = this.#seconds.length;
    while (tasks <= place) tasks *= 2;
    const seconds = new Int32Array(Math.max(place + 1, Math.min(tasks, this.#tasksMax)));
    seconds.set(this.#seconds);
    this.#seconds = seconds;
  }
}
