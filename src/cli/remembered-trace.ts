/**
 * `celery-otel trace UUID http://HOST:PORT`: prints what a running instance remembers of a task and its workflow. It opens no
 * connection to a broker.
 */

import { reasonOf } from '../text/errors.ts';
import { printable } from '../text/printable.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';
import { print } from './print.ts';
import { statusClient } from './status-client.ts';
import { rememberedTree, type TreeSize } from './trace-tree.ts';

/** @returns 1 if the instance does not answer, or remembers no finished run of the workflow */
export async function printRemembered(
  id: string,
  address: URL,
  io: Pick<CommandIo, 'stdout' | 'stderr'>,
  size: TreeSize,
): Promise<number> {
  const client = statusClient(address, { signal: new AbortController().signal });
  try {
    const found = await client.find(id);
    const trees = found.filter(({ tree }) => tree.length > 0);
    for (const each of trees) print(io.stdout, `${rememberedTree(each, titleOf(id, each.service), size)}\n`);
    const open = found.reduce((sum, each) => sum + each.open, 0);
    if (open > 0)
      print(
        io.stderr,
        `the task ${printable(id)} has ${open} ${open === 1 ? 'run that has' : 'runs that have'} not ended yet\n`,
      );
    if (trees.length > 0) return EXIT_CODE.ok;
    if (open === 0)
      print(
        io.stderr,
        `no run of the task ${printable(id)} is remembered there; raise status_runs to remember more\n`,
      );
  } catch (error) {
    print(io.stderr, `celery-otel trace failed: ${reasonOf(error)}. ${client.remedy}\n`);
  }
  return EXIT_CODE.failed;
}

function titleOf(id: string, service: string): string {
  return `task ${printable(id)} of ${service}`;
}
