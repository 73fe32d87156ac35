/**
 * Sends single tasks of the example shop and asks Celery about them, independently of celery-otel.
 */
import { join } from 'node:path';
import { runPython, SHOP_FOLDER } from '../real/celery.ts';
import type { ShopCluster } from './shop.ts';

const SCRIPT = join(import.meta.dirname, 'shop_tasks.py');

/** A task to be sent. */
export interface Order {
  readonly task: string;
  readonly args: readonly unknown[];
  /** Seconds. */
  readonly countdown?: number;
  /** Default: the one that the shop routes it to. */
  readonly queue?: string;
}

export interface SentTask {
  readonly id: string;
  /** When it was sent, or its ETA if it has one; epoch seconds. */
  readonly dueS: number;
}

/** Ids of tasks that a worker has. */
export interface HeldTasks {
  readonly active: readonly string[];
  readonly reserved: readonly string[];
  readonly scheduled: readonly string[];
}

/** Sends the tasks in quick succession. */
export async function sendTasks(
  cluster: ShopCluster,
  orders: readonly Order[],
): Promise<readonly SentTask[]> {
  const tasks = orders.map(({ task, args, countdown, queue }) => [
    task,
    args,
    countdown ?? null,
    queue ?? null,
  ]);
  const sent = await ask(cluster, 'send', JSON.stringify(tasks));
  return list(sent).map((each) => ({ id: String(get(each, 'id')), dueS: Number(get(each, 'due')) }));
}

/** The tasks that the worker has, by `inspect`. */
export async function heldBy(cluster: ShopCluster, nodename: string): Promise<HeldTasks> {
  const held = await ask(cluster, 'held', nodename);
  const ids = (what: keyof HeldTasks): readonly string[] => list(get(held, what)).map(String);
  return { active: ids('active'), reserved: ids('reserved'), scheduled: ids('scheduled') };
}

/** Waits until the tasks have a result each, and says when that was stored, epoch seconds. */
export async function endsOf(cluster: ShopCluster, tasks: readonly SentTask[]): Promise<readonly number[]> {
  return list(await ask(cluster, 'ended', ...tasks.map(({ id }) => id))).map(Number);
}

/** The worker sends task events from now on, or none; one that was started with `-E` always does. */
export async function switchEvents(cluster: ShopCluster, nodename: string, to: 'on' | 'off'): Promise<void> {
  const replies = list(await ask(cluster, 'events', to, nodename));
  if (replies.length !== 1) throw new Error(`${nodename} did not reply`);
}

/** @returns how many messages the queue had */
export async function purgeQueue(cluster: ShopCluster, queue: string): Promise<number> {
  return Number(await ask(cluster, 'purge', queue));
}

function ask(cluster: ShopCluster, ...args: readonly string[]): Promise<unknown> {
  // The script is not part of the shop; Python finds the shop only through its path.
  return runPython(cluster.flavour, SCRIPT, args, cluster, { env: { PYTHONPATH: SHOP_FOLDER } });
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`a list was expected, got ${JSON.stringify(value)}`);
  return value;
}

function get(value: unknown, key: string): unknown {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, key))
    return Reflect.get(value, key);
  throw new Error(`no ${key} in ${JSON.stringify(value)}`);
}
