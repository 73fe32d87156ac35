/**
 * A program that imports modules and reports, on standard output, whether anything but the names came of it: handles
 * that keep a process alive, timers that were started. It uses nothing of Node's test runner, which has both.
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
  // Looking at the standard streams opens them; the packages we build on do so to see whether they are terminals.
  void [process.stdout, process.stderr];
  const before = process.getActiveResourcesInfo();
  const names = [];
  for (const module of process.argv.slice(1)) names.push(...Object.keys(await import(module)));
  const handles = process.getActiveResourcesInfo();
  for (const handle of before) handles.splice(handles.indexOf(handle), handles.includes(handle) ? 1 : 0);
  console.log(JSON.stringify({ names: names.sort(), handles, timers }));
`;

export interface Imported {
  /** What the modules export at run time, in alphabetical order. */
  readonly names: readonly string[];
  readonly handles: readonly string[];
  readonly timers: readonly string[];
}
