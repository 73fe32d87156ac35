/**
 * A program that imports modules and reports on standard output whether that had effects: handles that keep a process
 * alive, or started timers. It does not use Node's test runner, which has both.
 */
export const IMPORTING = `
  const timers = [];
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
    const start = globalThis[name];
    globalThis[name] = (...args) => {
      timers.push(name + ' ' + new Error().stack.split('\\n')[2].trim());
      return start(...args);
    };
  }
  // Reading isTTY opens the standard streams, which the packages we use do.
  void [process.stdout, process.stderr];
  const before = process.getActiveResourcesInfo();
  const names = [];
  for (const module of process.argv.slice(1)) names.push(...Object.keys(await import(module)));
  const handles = process.getActiveResourcesInfo();
  for (const handle of before) handles.splice(handles.indexOf(handle), handles.includes(handle) ? 1 : 0);
  console.log(JSON.stringify({ names: names.sort(), handles, timers }));
`;

export interface Imported {
  /** The run-time exports of the modules, in alphabetical order. */
  readonly names: readonly string[];
  readonly handles: readonly string[];
  readonly timers: readonly string[];
}
