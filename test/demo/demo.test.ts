import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventCounts, readShopReport } from '../real/shop-report.ts';

const DEMO = new URL('../../examples/demo/', import.meta.url);

/** True on a busy machine: the line, and its field. */
const OVERLOADED = /^.*longer than the interval of .*this process is overloaded.*\n.*"\n/gmu;

/** The demo’s output and exit. */
let demo: { readonly code: unknown; readonly stdout: string };

before(async () => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('demo.ts', DEMO))], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  assert.equal(stderr.replaceAll(OVERLOADED, ''), '', 'nothing else is worth a warning');
  demo = { code, stdout };
});

/** The rows of the table whose header begins with that column: first cell → column → cell. */
function table(first: string): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const lines = demo.stdout.split('\n');
  const from = lines.findIndex((line) => new RegExp(`^${first}[▲▼ ]`, 'u').test(line));
  assert.ok(from >= 0, `no table of ${first}`);
  const cells = (line: string): readonly string[] => line.trim().split(/ {2,}/u);
  const head = cells(lines[from] ?? '').map((label) => label.replace(/[▲▼]$/u, ''));
  const rows = lines.slice(
    from + 1,
    lines.findIndex((line, index) => index > from && line === ''),
  );
  return new Map(
    rows.map((line) => [
      cells(line)[0] ?? '',
      Object.fromEntries(head.map((key, at) => [key, cells(line)[at] ?? ''])),
    ]),
  );
}

const number = (cell: string | undefined): number => Number(cell?.replace(',', ''));

/** The events of the recording, read without the tested code. */
function recordedEvents(): readonly Readonly<Record<string, unknown>>[] {
  const [, ...messages] = readFileSync(new URL('shop.ndjson', DEMO), 'utf8').trimEnd().split('\n');
  return messages.flatMap((line) => {
    const { body } = JSON.parse(line);
    return JSON.parse(body);
  });
}

test('it ends by itself, successfully', () => {
  assert.equal(demo.code, 0);
});

test('its table shows the outcomes that Celery reported in the recording', () => {
  const report = readShopReport(JSON.parse(readFileSync(new URL('shop.celery.json', DEMO), 'utf8')));
  const rows = table('Task');
  const sum = (counts: Readonly<Record<string, number>>) =>
    Object.values(counts).reduce((all, each) => all + each, 0);
  const expected = Object.entries(eventCounts(report)).map(([task, counts]) => [
    task,
    [counts.succeeded, sum(counts.failed), sum(counts.retried), counts.revoked, counts.rejected],
  ]);
  const shown = expected.map(([task]) => {
    const row = rows.get(String(task));
    return [
      task,
      [row?.['Succeeded'], row?.['Failed'], row?.['Retried'], row?.['Revoked'], row?.['Rejected']].map(
        number,
      ),
    ];
  });
  assert.deepEqual(shown, expected);
  assert.equal(rows.size, expected.length, 'each task has a line');
});

test('whatever started is in a column: its end, its loss, or that it runs or ended unseen', () => {
  const events = recordedEvents();
  const received = events.filter(({ type }) => type === 'task-received');
  const names = new Map(received.map(({ uuid, name }) => [uuid, name]));
  const started = new Set(events.filter(({ type }) => type === 'task-started').map(({ uuid }) => uuid));
  for (const [task, row] of table('Task')) {
    const own = events.filter(({ uuid }) => names.get(uuid) === task);
    assert.equal(number(row['Started']), own.filter(({ type }) => type === 'task-started').length, task);
    const neverStarted = own.filter(({ type, uuid }) => type === 'task-revoked' && !started.has(uuid));
    const outcomes = ['Succeeded', 'Failed', 'Retried', 'Rejected', 'Revoked', 'Cancelled', 'Lost'];
    const sum = [...outcomes, 'Running', 'Ended unseen'].reduce((all, key) => all + number(row[key]), 0);
    assert.equal(sum - neverStarted.length, number(row['Started']), task);
  }
});

test('its table shows which worker was killed, which was stopped, and that the others are up', () => {
  const offline = recordedEvents().filter(({ type }) => type === 'worker-offline');
  const gone = new Map(offline.map(({ hostname }) => [String(hostname), 'left']));
  gone.set('reports-1@shop-b', 'silent');
  assert.equal(gone.size, 2);
  for (const [worker, row] of table('Worker')) assert.equal(row['State'], gone.get(worker) ?? 'up', worker);
});

test('the recording has all outcomes of tasks, from at least two kinds of pool', () => {
  const types = new Set(recordedEvents().map(({ type }) => type));
  for (const type of [
    'sent',
    'received',
    'started',
    'succeeded',
    'failed',
    'retried',
    'rejected',
    'revoked',
  ]) {
    assert.ok(types.has(`task-${type}`), type);
  }
  const errors = [...table('Task').values()].flatMap((row) => row['Exceptions']?.split(', ') ?? []);
  assert.ok(new Set(errors).size >= 6, 'several classes of exceptions');
});

test('it ends with a workflow and a retried task as trees', () => {
  const [workflow = '', retried = ''] = demo.stdout.split('$ celery-otel trace ').slice(1);
  const [, head = '', ...lines] = workflow.trimEnd().split('\n');
  assert.match(head, /^trace 6e1cc4051a6c4b999732f0e1958ef9f6 {2}4 task runs/u);
  assert.deepEqual(
    lines.map((line) => line.slice(0, line.search(/ +[░█]/u))),
    ['shop.check_stock', '└ shop.charge_card', '  └ shop.pack_parcel', '  └ shop.send_receipt'],
  );
  assert.match(retried, / 3 task runs .* 1 failed\n/u);
  assert.match(
    retried,
    / retried: GatewayBusy .*\n.* retried, retry 1: .*\n.* failed, retry 2: GatewayBusy: please ask again/u,
  );
});

test('it begins with whether all is well, and ends with what to do next', () => {
  assert.match(demo.stdout, /^! Degraded: shop: [\s\S]*\n\nshop {2}recording:/mu);
  assert.match(demo.stdout, /\nWhat to do next:\n(?:.+\n)+$/u);
  assert.ok(!demo.stdout.includes('\u001b'), 'there is no terminal');
});
