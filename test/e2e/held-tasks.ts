/** Tasks that run until a test lets them end, however long it takes until then. It starts nothing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { SHOP_FOLDER } from '../real/celery.ts';

/** The application of workers that have the task. */
export const HELD_SHOP = {
  folder: import.meta.dirname,
  app: 'shop_held',
  env: { PYTHONPATH: SHOP_FOLDER },
} as const;

export const HELD_TASK = 'shop.wait_while';

/** What tasks are sent with, and what lets those end; the end of the test does too. */
export function holdTasks(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-held-'));
  const file = join(folder, 'held');
  writeFileSync(file, '');
  const release = () => rmSync(folder, { recursive: true, force: true });
  t.after(release);
  return { order: { task: HELD_TASK, args: [file] }, release };
}
