/** The command `trace`: one task’s trace out of a recording. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { trace } from '../../src/cli/trace.ts';
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

test('mistakes in options are reported', async () => {
  const { io, stderr } = processIo({ CELERY_BROKER_URL: 'nonsense' });
  assert.equal(await trace([ROOT, '--nonsense'], io), 78);
  assert.match(stderr(), /^celery-otel trace did not start, 2 mistakes/u);
});
