/** The command `trace`: one task’s trace out of a recording, or out of what a running instance remembers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { trace } from '../../src/cli/trace.ts';
import type { TreeRow } from '../../src/health/details.ts';
import { processIo } from './process-io.ts';

const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
const ENV = { CELERY_BROKER_URL: `recording:${RECORDING}`, OTEL_SERVICE_NAME: 'shop', LOG_LEVEL: 'error' };
/** The first task of a workflow of four. */
const ROOT = 'ff08fb4f-1c79-46fd-869b-c85212ca98d2';

test('the trace of a task is a tree of its runs, at once whatever the speed of the recording', async () => {
  const { io, stdout } = processIo(ENV);
  assert.equal(await trace([ROOT], io), 0);
  const [head = '', ...lines] = stdout().trimEnd().split('\n');
  assert.match(head, /^trace ff08fb4f1c7946fd869bc85212ca98d2 {2}4 task runs {2}\d+ ms$/u);
  assert.deepEqual(
    lines.map((line) => line.slice(0, line.search(/ +[░█]/u))),
    ['shop.check_stock', '└ shop.charge_card', '  └ shop.pack_parcel', '  └ shop.send_receipt'],
  );
  for (const line of lines) assert.match(line, /[░█]+ +\d+ ms {2}succeeded {2}\S+@shop-\w$/u);
});

test('the id of a trace, or of any task in it, finds the same', async () => {
  const whole = processIo(ENV);
  await trace([ROOT], whole.io);
  const byTrace = processIo(ENV);
  assert.equal(await trace([ROOT.replaceAll('-', ''), '--log-level', 'error'], byTrace.io), 0);
  assert.equal(byTrace.stdout(), whole.stdout());
});

test('the broker is enough to be told', async () => {
  const { io, stdout } = processIo({ LOG_LEVEL: 'error' });
  assert.equal(await trace([ROOT, '--broker-url', `recording:${RECORDING}`], io), 0);
  assert.match(stdout(), /^trace ff08fb4f1c7946fd869bc85212ca98d2 /u);
});

test('what spans and records may not show of exceptions is not shown here either', async () => {
  const failed = '935bed17-72e7-40ef-aae8-c426fe2575b3';
  const shown = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const { io, stdout } = processIo({ ...ENV, ...env });
    assert.equal(await trace([failed], io), 0);
    return stdout();
  };
  assert.match(await shown({}), /failed: CardDeclined: not enough money/u);
  for (const signal of ['TRACES', 'LOGS']) {
    const without = { [`OTEL_${signal}_EXPORTER`]: 'otlp', CELERY_OTEL_LOGS_EXCEPTION_MESSAGE: 'false' };
    assert.match(await shown(without), /failed: CardDeclined {2}/u);
  }
});

test('an unknown task gives exit code 1, and says what was looked for', async () => {
  const { io, stdout, stderr } = processIo(ENV);
  assert.equal(await trace(['00000000-0000-4000-8000-000000000000'], io), 1);
  assert.equal(stdout(), '');
  assert.match(stderr(), /no run of the task 00000000-0000-4000-8000-000000000000 was seen/u);
});

test('what cannot be read is reported', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-trace-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'pickled.ndjson');
  const lines = readFileSync(RECORDING, 'utf8').trimEnd().split('\n');
  const [, message = ''] = lines;
  lines.push(
    message.replace('"contentType":"application/json"', '"contentType":"application/x-python-serialize"'),
  );
  writeFileSync(file, lines.join('\n'));
  const { io, stderr } = processIo({ ...ENV, LOG_LEVEL: 'warn', CELERY_BROKER_URL: `recording:${file}` });
  assert.equal(await trace([ROOT], io), 0);
  assert.match(stderr(), /not counted: /u);
  assert.doesNotMatch(stderr(), /only events from/u);
});

for (const argv of [[], ['--log-level', 'error'], ['a b'], ['']]) {
  test(`without an id it does not start: ${JSON.stringify(argv)}`, async () => {
    const { io, stderr } = processIo(ENV);
    assert.equal(await trace(argv, io), 78);
    assert.match(stderr(), /expected the id of a task, or of a trace\nTry: celery-otel trace UUID/u);
  });
}

/** A server that knows one workflow, and another task that runs. @returns its address */
async function remembering(t: TestContext, found: readonly unknown[]): Promise<string> {
  const server = createServer((request, response) => {
    const id = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
    response.statusCode = request.url?.startsWith('/proxy/details/find/') === true ? 200 : 404;
    response.end(JSON.stringify({ version: 1, id, found: id === 'order-4711' ? found : [] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}/proxy`;
}

describe('from a running instance', () => {
  const at = (second: number) => `2026-11-28T10:00:0${second}.000Z`;
  const row = { id: 'a', worker: 'w1@h', outcome: 'succeeded', error_type: '', retries: 0, depth: 0 };
  const tree: readonly TreeRow[] = [
    { ...row, task: 'shop.pay', from: at(0), started: at(1), ended: at(3) },
    {
      ...{ ...row, id: 'b', task: 'shop.ship', outcome: 'failed', error_type: 'KeyError', retries: 1 },
      ...{ depth: 1, from: at(3), started: at(5), ended: at(6) },
    },
  ];

  test('what it remembers of the workflow is printed as a tree', async (t) => {
    const address = await remembering(t, [{ service: 'shop', open: [{}], tree, tree_total: 5 }]);
    const { io, stdout, stderr } = processIo({});
    assert.equal(await trace(['order-4711', address], io), 0);
    assert.deepEqual(
      stdout()
        .split('\n')
        .map((line) => line.replaceAll(/[░█]+/gu, ' ').replaceAll(/ {2,}/gu, '  ')),
      [
        'task order-4711 of shop  2 task runs  6.0 s  1 failed',
        'shop.pay  2.0 s  succeeded  w1@h',
        '└ shop.ship  1.0 s  failed, retry 1: KeyError  w1@h',
        '… and 3 more',
        '',
      ],
    );
    assert.equal(stderr(), 'the task order-4711 has 1 run that has not ended yet\n');
  });

  test('what it sends cannot steer the terminal, whatever it is', async (t) => {
    const hostile = {
      ...row,
      task: '\u001b[2Jx',
      outcome: 5,
      depth: 1e9,
      from: 'never',
      started: null,
      ended: 7,
    };
    const address = await remembering(t, [{ service: 'a\nb', open: 'x', tree: [hostile, null, 3] }]);
    const { io, stdout } = processIo({});
    assert.equal(await trace(['order-4711', address], io), 0);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them
    assert.doesNotMatch(stdout(), /[\u0000-\u0009\u000b-\u001f]|NaN/u);
    assert.ok(stdout().length < 1000);
  });

  test('an unknown id, a server that is none, and options are refused with what to do', async (t) => {
    const address = await remembering(t, []);
    for (const [args, code, message] of [
      [['other', address], 1, /^no run of the task other is remembered there; raise status_runs/u],
      [['other', `${address}/x`], 1, /responded with status 404\. Start celery-otel run there/u],
      [['other', 'http://127.0.0.1:1'], 1, /^celery-otel trace failed: .*correct the address\.\n$/u],
      [['other', address, '--log-level', 'debug'], 78, /expected no options with an address/u],
    ] as const) {
      const { io, stderr, stdout } = processIo({});
      assert.equal(await trace(args, io), code);
      assert.match(stderr(), message);
      assert.equal(stdout(), '');
    }
  });
});
