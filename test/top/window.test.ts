/** The view of a window, and the report without one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { widthOf } from '../../src/top/cells.ts';
import { type Choice, firstChoice, KEYS, TABLES, type Target } from '../../src/top/keys.ts';
import { colouredOf, textOf } from '../../src/top/line.ts';
import { report, type Size, windowView } from '../../src/top/window.ts';
import { TASK_RATES, TASK_TOTALS } from '../../src/view/columns.ts';
import type { Snapshot } from '../../src/view/snapshot.ts';
import { HOSTILE, UNPRINTABLE } from '../hostile-text.ts';
import { DETAILS, STATUS, serviceOf, snapshotOf, TASKS, taskRow } from './shop-snapshot.ts';

const WIDE = { columns: 220, rows: 24 };
const NARROW = { columns: 60, rows: 12 };

function shown(seen: Snapshot, more: Partial<Choice> = {}, size: Size = WIDE): readonly string[] {
  return windowView(seen, { ...firstChoice(false), ...more }, size).lines.map(textOf);
}

function lineWith(lines: readonly string[], part: string): string {
  const line = lines.find((each) => each.includes(part));
  assert.ok(line !== undefined, `${part} is not in\n${lines.join('\n')}`);
  return line;
}

test('first whether all is well, then the service with its broker, events, lag and loss, then its tasks', () => {
  const [verdict, service, events, tabs, heading, first, second] = shown(snapshotOf());
  assert.equal(verdict, '✓ Fine: 1 broker connected, last export 2 s ago.');
  assert.equal(service, 'shop  amqp://shop:***@rabbit:5672, connected');
  assert.match(
    events ?? '',
    /^ {2}12\.4 events\/s [▁-█]{20,} {3}lag 21 ms {3}not counted none {3}workers up 2 of 3 {3}running 7 {3}waiting 17$/u,
  );
  assert.match(tabs ?? '', /^ 1 Tasks {3}2 Workers {3}3 Queues {3}4 Exports {3}5 Services {3}1–3 of 3$/u);
  assert.match(heading ?? '', /^ {2}Task +Started\/min▼ +Failed share +Running +Lost +Runtime p95/u);
  assert.match(first ?? '', /^▸ shop\.mail +90 +0\.3 % /u);
  assert.match(second ?? '', /^ {2}shop\.pay +40 +13 % +2 +0 .*PaymentRefused ×52 +5\.2 +34\.8 /u);
});

test('it fits every window, the verdict first', () => {
  const seen = snapshotOf({ ...STATUS, grade: 'down', summary: 'shop: it is away. '.repeat(20) });
  for (let columns = 1; columns < 130; columns += 3)
    for (let rows = 1; rows < 26; rows += 1) {
      for (const more of [...TABLES.map((table) => ({ table })), { open: PAGE }]) {
        const lines = shown(seen, more, { columns, rows });
        assert.equal(lines.length, rows);
        for (const line of lines) assert.ok(widthOf(line) <= columns, `${columns}: ${line}`);
        assert.match(lines[0] ?? '', /^[✗…]/u);
      }
    }
});

test('a narrow window keeps the name, the column that is sorted by, and as many others as have room', () => {
  const heading = lineWith(shown(snapshotOf(), {}, NARROW), 'Task ');
  assert.match(heading, /^ {2}Task +Started\/min▼ +Failed share +Running/u);
  const orders = { ...firstChoice(false).orders, Tasks: { column: 5, isDescending: true } };
  assert.match(lineWith(shown(snapshotOf(), { orders }, NARROW), 'Task '), /Started\/min.*Runtime p95▼$/u);
});

test('rows are sorted by any column, either way, those without a value last', () => {
  const names = (column: number, isDescending: boolean) => {
    const orders = { ...firstChoice(false).orders, Tasks: { column, isDescending } };
    return shown(snapshotOf(), { orders }).flatMap((line) => /^(?:▸| ) (shop\.\w+)/u.exec(line)?.[1] ?? []);
  };
  assert.deepEqual(names(0, false), ['shop.mail', 'shop.pay', 'shop.report']);
  assert.deepEqual(names(0, true), ['shop.report', 'shop.pay', 'shop.mail']);
  assert.deepEqual(names(2, true), ['shop.pay', 'shop.mail', 'shop.report'], 'Failed share');
  assert.deepEqual(names(2, false), ['shop.mail', 'shop.pay', 'shop.report']);
});

test('a filter is looked for in all names, whatever their case, and is shown while it is written', () => {
  const lines = shown(snapshotOf(), { filter: 'paymentR', isWriting: true });
  assert.match(lineWith(lines, '1 Tasks'), /1–1 of 1 with “paymentR”$/u);
  assert.deepEqual(
    lines.flatMap((line) => /^. (shop\.\w+)/u.exec(line)?.[1] ?? []),
    ['shop.pay'],
  );
  assert.equal(lines.at(-1), '/paymentR');
  assert.match(lineWith(shown(snapshotOf(), { filter: 'nothing' }), '1 Tasks'), /no tasks with “nothing”$/u);
});

test('many rows are scrolled, and not beyond their end', () => {
  const rows = Array.from({ length: 500 }, (_, index) => taskRow(`task_${String(index).padStart(3, '0')}`));
  const seen = snapshotOf(STATUS, { ...DETAILS, tasks: { total: 700, rows } });
  const view = windowView(seen, { ...firstChoice(true), selected: Number.MAX_SAFE_INTEGER }, WIDE);
  assert.deepEqual([view.offset, view.selected], [500 - view.page, 499]);
  assert.match(lineWith(view.lines.map(textOf), '1 Tasks'), new RegExp(`${501 - view.page}–500 of 700`, 'u'));
  assert.ok(view.lines.map(textOf).some((line) => line.startsWith('▸ task_499')));
});

test('the cursor stays with its row wherever it moves, but the first place is that of the first row', () => {
  const rows = ['a', 'b', 'c'].map((name) => taskRow(name, { running: 1 }));
  const seen = snapshotOf(STATUS, { ...DETAILS, tasks: { total: 3, rows } });
  const orders = { ...firstChoice(false).orders, Tasks: { column: 0, isDescending: false } };
  const at = { ...firstChoice(false), orders, selected: 1 };
  const { target } = windowView(seen, at, WIDE);
  assert.deepEqual(target, { table: 'Tasks', name: 'b', service: 0 });
  const turned = { ...at, target, orders: { ...orders, Tasks: { column: 0, isDescending: true } } };
  const others = { ...DETAILS, tasks: { total: 4, rows: [...rows, taskRow('d')] } };
  const later = windowView(snapshotOf(STATUS, others), turned, WIDE);
  assert.deepEqual([later.selected, later.target?.name], [2, 'b']);
  assert.match(lineWith(later.lines.map(textOf), '▸ '), /^▸ b /u);
  const first = { ...turned, selected: 0, target: { ...PAGE, name: 'a' } };
  assert.equal(windowView(snapshotOf(STATUS, others), first, WIDE).target?.name, 'd');
  const gone = { ...turned, target: { ...PAGE, name: 'x' } };
  assert.equal(windowView(snapshotOf(STATUS, others), gone, WIDE).selected, 1, 'where it was');
  const none = windowView(snapshotOf(STATUS, others), { ...turned, filter: 'nothing' }, WIDE);
  assert.deepEqual([none.selected, none.target], [0, undefined]);
});

const PAGE: Target = { table: 'Tasks', name: 'shop.pay', service: 0 };
const ERRORS = ['PaymentRefused', 'GatewayBusy', 'CardDeclined', 'BankClosed'].map((type, count) => ({
  ...{ type, count: 50 - count },
}));
const FAILING = {
  ...DETAILS,
  tasks: { total: 2, rows: [taskRow('shop.pay', { ...TASKS[0], errors: ERRORS }), taskRow('shop.mail')] },
};

test('the page of a task has each column of both tables once, one fact a line, and each of its exceptions', () => {
  const lines = shown(snapshotOf(STATUS, FAILING), { open: PAGE }, { columns: 60, rows: 40 });
  assert.equal(lineWith(lines, ' Tasks '), ' Tasks  shop.pay');
  const facts = lines.filter((line) => line.startsWith('  ')).map((line) => line.trim().split(/ {2,}/u));
  const labels = [...new Set([...TASK_TOTALS, ...TASK_RATES].map(({ label }) => label))];
  for (const label of labels) assert.equal(facts.filter(([each]) => each === label).length, 1, label);
  const at = facts.findIndex(([label]) => label === 'Exceptions');
  assert.deepEqual(facts.slice(at, at + 4), [
    ['Exceptions', 'PaymentRefused ×50'],
    ['GatewayBusy ×49'],
    ['CardDeclined ×48'],
    ['BankClosed ×47'],
  ]);
  assert.deepEqual(
    facts.filter(([label]) => label?.startsWith('Started') === true),
    [
      ['Started', '4,000'],
      ['Started/min', '40'],
    ],
  );
});

test('each kind of row has a page with all its columns, scrolled in a small window', () => {
  const pages = [
    [{ ...PAGE, table: 'Workers', name: 'celery@old' }, /Last sign of life +1 h/u],
    [{ ...PAGE, table: 'Queues', name: 'reports' }, /Consumers +0\n/u],
    [{ ...PAGE, table: 'Exports', name: 'shop: metrics' }, /To +http:\/\/collector:4317 \(grpc\)/u],
    [{ ...PAGE, table: 'Services', name: 'shop' }, /Workers known +3/u],
  ] as const;
  for (const [open, fact] of pages)
    assert.match(shown(snapshotOf(), { open }, { columns: 60, rows: 40 }).join('\n'), fact);
  const small = windowView(snapshotOf(), { ...firstChoice(false), open: PAGE, offset: 1000 }, NARROW);
  assert.match(small.lines.map(textOf).join('\n'), / Tasks {2}shop\.pay\n(?:.*\n)*.*Retried\/min/u);
  assert.ok(small.offset > 0 && small.offset < 1000);
});

test('a page keeps the verdict and the problems, and says if its row is gone', () => {
  const since = new Date(2026, 10, 26, 9, 58, 1).toISOString();
  const problems = ['one', 'two'].map((line) => ({
    ...{ grade: 'down', services: ['shop'], service_count: 1, line, since },
    ...{ remedy: 'Do this.', runbook: 'docs/a.md#b' },
  }));
  const seen = snapshotOf({ ...STATUS, grade: 'down', problems });
  for (const more of [{ open: PAGE }, { table: 'Services' as const }, { isHelp: true }]) {
    const [verdict, other] = shown(seen, more);
    assert.match(verdict ?? '', /^✗ Down: shop: one, /u);
    assert.match(other ?? '', /^- shop: two, /u);
  }
  lineWith(shown(seen, { open: { ...PAGE, name: 'shop.old' } }), 'it is not there any more');
});

test('on a page nothing is cut, and every name is escaped', () => {
  const long = '決'.repeat(300) + HOSTILE;
  const row = taskRow('shop.pay', { ...TASKS[0], errors: [{ type: long, count: 7 }] });
  const seen = snapshotOf(STATUS, { ...DETAILS, tasks: { total: 2, rows: [row, taskRow(HOSTILE)] } });
  const size = { columns: 50, rows: 60 };
  const lines = shown(seen, { open: PAGE }, size);
  const text = lines.map((line) => line.trim().replace('Exceptions', '').trim()).join('');
  assert.ok(text.includes(`${'決'.repeat(300)}w1@h\\u001b[2J`), text);
  const { target } = windowView(seen, { ...firstChoice(false), selected: 1 }, size);
  const hostile = shown(seen, { open: target }, size);
  assert.match(lineWith(hostile, ' Tasks '), /^ Tasks {2}w1@h\\u001b/u);
  for (const line of [...lines, ...hostile]) {
    assert.doesNotMatch(line, UNPRINTABLE);
    assert.ok(widthOf(line) <= size.columns, line);
  }
});

test('at 120 columns tasks have their exceptions, before what is rare, and names that can be read', () => {
  const name = 'shop.write_yearly_report';
  const row = taskRow(name, { ...TASKS[0], name, errors: ERRORS });
  const seen = snapshotOf(STATUS, { ...DETAILS, tasks: { total: 1, rows: [row] } });
  for (const isTotals of [false, true]) {
    const lines = shown(seen, { isTotals }, { columns: 120, rows: 24 });
    assert.match(lineWith(lines, 'Exceptions'), /Failed.* Lost .*Exceptions/u);
    assert.match(lineWith(lines, `▸ ${name} `), /PaymentRefused ×50/u);
  }
});

test('hostile names are shown, escaped, and neither move the cursor nor the columns', () => {
  const rows = [taskRow(HOSTILE), taskRow('b')];
  const problem = { service: HOSTILE, line: HOSTILE, remedy: HOSTILE };
  const service = serviceOf(HOSTILE, { broker: HOSTILE, phase: HOSTILE });
  const seen = snapshotOf(
    { ...STATUS, summary: HOSTILE, problems: [problem, problem], services: [service, service] },
    { ...DETAILS, tasks: { total: 2, rows } },
  );
  const lines = [...shown(seen), ...report(seen, true).map(textOf)];
  for (const line of lines) assert.doesNotMatch(line, UNPRINTABLE);
  const [other = '', hostile = ''] = shown(seen).filter((line) => /^. (?:w1@h|b ) *.* – /u.test(line));
  assert.match(hostile, /^ {2}w1@h\\u001b\[2J/u);
  assert.equal(hostile.length, other.length);
});

test('wide and combining characters take the places that they have on a terminal', () => {
  const names = ['決済.支払い', 'zahlung', 'bezahlė́', '🛒.checkout'];
  const seen = snapshotOf(STATUS, {
    ...DETAILS,
    tasks: { total: 4, rows: names.map((name) => taskRow(name)) },
  });
  for (const columns of [200, 70, 58, 46]) {
    const orders = { ...firstChoice(false).orders, Tasks: { column: 0, isDescending: false } };
    const size = { columns, rows: 20 };
    const lines = windowView(seen, { ...firstChoice(false), orders }, size).lines.map(textOf);
    const rows = lines.filter((line) => /^. \S+ +0 +[–0]/u.test(line));
    assert.equal(rows.length, 4, lines.join('\n'));
    const zeros = rows.map((line) => widthOf(/^.*?(?= 0 )/u.exec(line)?.[0] ?? ''));
    assert.equal(new Set(zeros).size, 1, rows.join('\n'));
  }
});

test('an hour without events, no rows and no services are shown as such', () => {
  const none = { total: 0, rows: [] };
  const empty = { ...DETAILS, tasks: none, workers: none, queues: none, events: { step_s: 10, counts: [] } };
  assert.match(lineWith(shown(snapshotOf(STATUS, empty)), '1 Tasks'), /no tasks yet$/u);
  assert.match(lineWith(shown(snapshotOf({ ...STATUS, services: [] }, {})), '1 Tasks'), /no tasks yet$/u);
  assert.equal(shown(snapshotOf({}, {}))[0], '! Asking celery-otel …');
});

test('what is not reachable says since when, why, what to do, and of when the rest is', () => {
  const unreachable = {
    since: new Date(2026, 10, 26, 12, 3, 4),
    reason: 'ECONNREFUSED',
    remedy: 'Start it.',
  };
  const [verdict = '', ...others] = shown({ ...snapshotOf(), unreachable });
  assert.match(
    verdict,
    /^✗ not reachable since 12:03:04: ECONNREFUSED\. Start it\. The state below is from \d\d:00:00\.$/u,
  );
  lineWith(others, 'shop.pay');
  const never = { status: undefined, details: new Map(), unreachable };
  assert.equal(shown(never)[0], '✗ not reachable since 12:03:04: ECONNREFUSED. Start it.');
  assert.deepEqual(report(never, false).map(textOf), [
    '✗ not reachable since 12:03:04: ECONNREFUSED. Start it.',
  ]);
});

test('of several problems the first is the verdict, and the others are below it', () => {
  const since = new Date(2026, 10, 26, 9, 58, 1).toISOString();
  const problem = (line: string, service_count = 1) => ({
    ...{ grade: 'down', services: ['shop', 'mail', 'ship', 'book'].slice(0, service_count), service_count },
    ...{ line, since, remedy: 'Do this.', runbook: 'docs/a.md#b' },
  });
  const problems = [problem('one', 17), problem('two'), problem('three')];
  const summary = 'Down: shop: one. Do this. (2 more: see problems.)';
  const lines = shown(snapshotOf({ ...STATUS, grade: 'down', summary, problems }));
  assert.deepEqual(lines.slice(0, 3), [
    '✗ Down: shop, mail, ship and 14 more: one, since 09:58:01. Do this. (docs/a.md#b) (2 more below)',
    '- shop: two, since 09:58:01. Do this. (docs/a.md#b)',
    '- shop: three, since 09:58:01. Do this. (docs/a.md#b)',
  ]);
});

test('of several services each has a line, and the chosen one its tables', () => {
  const names = Array.from({ length: 12 }, (_, index) => `shop-${index}`);
  const seen = snapshotOf({ ...STATUS, services: names.map((name) => serviceOf(name)) });
  const listed = windowView(seen, { ...firstChoice(false), table: 'Services', selected: 7 }, WIDE);
  // By the verdict, which is the same for all, and then by name.
  assert.deepEqual(listed.target, { table: 'Services', name: 'shop-5', service: 5 });
  const lines = shown(seen, { service: 7 });
  assert.match(lineWith(lines, '▸ '), /^▸ shop-7 +fine +connected +12\.4 events\/s +lag 21 ms$/u);
  assert.match(lineWith(lines, '1 Tasks'), /no tasks yet$/u, 'its details have not come yet');
  assert.ok(lines.filter((line) => line.includes('events/s')).length < 8);
});

test('each key of the table is in the help, which is scrolled in a small window', () => {
  const help = shown(snapshotOf(), { isHelp: true }, { columns: 90, rows: 40 }).join('\n');
  for (const { label, doc } of KEYS) assert.ok(help.includes(`  ${label} `) && help.includes(doc), label);
  const end = windowView(snapshotOf(), { ...firstChoice(false), isHelp: true, offset: 1000 }, NARROW);
  assert.match(end.lines.map(textOf).join('\n'), /these keys/u);
});

test('colours come from tones alone, and the text is the same without', () => {
  const seen = snapshotOf({ ...STATUS, grade: 'down', summary: 'shop: it is away.' });
  const { lines } = windowView(seen, firstChoice(false), WIDE);
  const coloured = lines.map(colouredOf);
  assert.ok(coloured[0]?.startsWith('\u001b[1m\u001b[31m✗ shop: it is away.'), coloured[0]);
  const plain = coloured.map((line) => stripVTControlCharacters(line).trimEnd());
  assert.deepEqual(plain, lines.map(textOf));
});

test('the report has everything, cut nowhere, with counts since the start or rates', () => {
  const long = 'shop.'.repeat(60);
  const tasks = { total: 4, rows: [...TASKS, taskRow(long)] };
  const text = report(snapshotOf(STATUS, { ...DETAILS, tasks }), true)
    .map(textOf)
    .join('\n');
  for (const part of [
    long,
    '4,000',
    'celery@old',
    'reports',
    'shop: metrics',
    'http://collector:4317 (grpc)',
  ])
    assert.ok(text.includes(part), part);
  assert.match(text, /^Task +Started▼ +Succeeded .*Rejected +Revoked +Cancelled +Ended unseen/mu);
  assert.match(report(snapshotOf(), false).map(textOf).join('\n'), /^Task +Started\/min▼/mu);
});
