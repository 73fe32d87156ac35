/**
 * Which test files run, in which order, and which of them share a process. Only names are looked at; nothing is run.
 */
import { globSync, statSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '..');

/** They start Redis servers. */
const REAL_REDIS = ['elsewhere', 'layouts', 'queue-poll', 'reasons', 'transport'].map(
  (name) => `test/broker/redis/${name}`,
);
/** These have a process of their own, since they are slow: they compute, and begin in this order, so that none runs alone at the end. */
const COMPUTING = [
  'test/page/page',
  'test/e2e/hostile.test',
  'test/cluster/successors.property',
  'test/e2e/outcomes',
  'test/e2e/bombs',
];
/** And those that mostly wait, the longest first. */
const WAITING = [
  'test/e2e/alerts',
  'test/e2e/check',
  'test/e2e/verdict',
  'test/e2e/odd-workers',
  'test/e2e/troubles',
  'test/e2e/first-increases',
  'test/e2e/silence',
  'test/e2e/control-endurance',
  'test/e2e/worker-pools',
  'test/e2e/prometheus',
  'test/e2e/dashboards',
  'test/dashboards/rules',
  'test/e2e/waits',
  'test/e2e/unseen-tasks',
  'test/e2e/outage',
  'test/e2e/lost',
  'test/e2e/careful-questions',
  'test/e2e/deaf-worker',
  'test/e2e/attempts',
  'test/otel-config/own-example',
  'test/otel-config/peer-names',
  'test/otel-config/messaging-conventions',
  'test/e2e/events-lost',
  'test/e2e/signals',
  'test/e2e/queue-depth',
  'test/e2e/two-brokers',
  'test/broker/control.test',
  'test/e2e/',
  'test/bench/',
  'test/top/terminal',
  'test/demo/demo.test',
  'test/broker/amqp/certificate-login',
  'test/broker/amqp/alarm',
  'test/broker/amqp/transport',
  'test/broker/amqp/queue-poll',
  'test/broker/wrong-server',
  'test/broker/memory/',
  ...REAL_REDIS,
  'test/real/',
  'test/otlp/send/exporter-',
  'test/otlp/through-collector',
  'test/examples/',
  'test/page/',
];
/**
 * They have a process of their own too, but are quick: what they measure depends on what the process did before, or they
 * change something in it for good.
 */
const APART = ['test/celery/expansion', 'test/cli/heap-growth', 'test/untraced'];
/** Excluded by `--fast`. */
const NOT_FAST = [
  ...[
    'test/e2e/',
    'test/real/',
    'test/deploy/',
    'test/bench/',
    'test/dashboards/rules',
    'test/page/',
    'test/top/terminal',
    'test/broker/amqp/alarm',
    'test/broker/amqp/transport',
    'test/broker/amqp/certificate-login',
    'test/broker/amqp/queue-poll',
    'test/broker/control.test',
    'test/broker/wrong-server',
    'test/broker/memory/',
    ...REAL_REDIS,
    'test/recordings/',
  ],
  ...['test/otlp/through-collector', 'test/otel-config/', 'test/demo/demo.test', 'test/examples/'],
];
/** They borrow a RabbitMQ, or start workers or scripts of Celery. */
const BORROWING = [
  'test/e2e/',
  ...['control.test', 'instances', 'wrong-server'].map((name) => `test/broker/${name}`),
  'test/broker/amqp/opening-refusal',
  'test/broker/redis/layouts',
  'test/broker/redis/queue-poll',
  'test/otel-config/own-example',
];
/** By what they are for. */
export const LISTS = { COMPUTING, WAITING, APART, NOT_FAST, BORROWING };
/** Starting a process and loading the code takes longer than the tests of most files. */
const FILES_A_PROCESS = 20;

/** The place of the first beginning that fits; -1 without one. */
function placeIn(beginnings: readonly string[], file: string): number {
  return beginnings.findIndex((beginning) => file.startsWith(beginning));
}

function inOrderOf(beginnings: readonly string[], files: readonly string[]): string[] {
  return files.toSorted((one, other) => placeIn(beginnings, one) - placeIn(beginnings, other));
}

/** What the program does, all or what is quick to see; or what it costs. */
export type Suite = 'all' | 'fast' | 'limits';

/** The test files for the arguments; a folder means all files in it. */
export function filesFor(selection: readonly string[], suite: Suite): readonly string[] {
  const ending = suite === 'limits' ? 'limits' : 'test';
  return selection
    .map((name) => path.relative(ROOT, path.resolve(name)))
    .flatMap((name) =>
      statSync(path.resolve(ROOT, name), { throwIfNoEntry: false })?.isDirectory()
        ? globSync(`${name}/**/*.${ending}.ts`, { cwd: ROOT }).sort()
        : [name],
    )
    .filter((file) => suite !== 'fast' || placeIn(NOT_FAST, file) < 0);
}

/** The files of each process, in the order in which these start. */
export function processesFor(files: readonly string[]): readonly (readonly string[])[] {
  const {
    computing = [],
    waiting = [],
    apart = [],
    quick = [],
  } = Object.groupBy(files, (file) => {
    if (file.endsWith('.limits.ts')) return 'apart';
    if (placeIn(COMPUTING, file) >= 0) return 'computing';
    if (placeIn(WAITING, file) >= 0) return 'waiting';
    return placeIn(APART, file) >= 0 ? 'apart' : 'quick';
  });
  const groups = Math.ceil(quick.length / FILES_A_PROCESS);
  return spread(inOrderOf(WAITING, waiting).map(alone), [
    ...inOrderOf(COMPUTING, computing).map(alone),
    ...Array.from({ length: groups }, (_, group) => quick.filter((_, index) => index % groups === group)),
    ...apart.map(alone),
  ]);
}

function alone(file: string): readonly string[] {
  return [file];
}

/** From the first to the last, some compute while others wait: a machine has enough to do, and never too much. */
function spread(
  waiting: readonly (readonly string[])[],
  computing: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const share = waiting.length / Math.max(computing.length, 1);
  return [
    ...computing.flatMap((files, index) => [
      ...waiting.slice(Math.round(index * share), Math.round((index + 1) * share)),
      files,
    ]),
    ...(computing.length === 0 ? waiting : []),
  ];
}

/** Whether it is worth while to build the command once for all. */
export function isMainShared(files: readonly string[]): boolean {
  return files.filter((file) => file.startsWith('test/e2e/')).length > 1;
}

/** Whether it is worth while to start a RabbitMQ, and a Python of each Celery, once for all. */
export function areServersShared(files: readonly string[]): boolean {
  return files.filter((file) => placeIn(BORROWING, file) >= 0).length > 1;
}
