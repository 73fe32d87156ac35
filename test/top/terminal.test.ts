/** `celery-otel top` in a real terminal: it fits it, takes keys, and gives it back. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { STOP_SIGNALS } from '../../src/cli/exit-code.ts';
import { ensureRealParts } from '../real/install.ts';
import { openPane, type Pane } from '../real/tmux.ts';
import { until } from '../until.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
const TOP = [process.execPath, MAIN, 'top'];
const PLAYED = [...TOP, `recording:${RECORDING}?speed=max`];
/** Of a terminal that nothing is wrong with. */
const AS_BEFORE = /^ended (\d+): icanon echo$/mu;

/** It has ended, and left the terminal as it was. */
async function isGivenBack(pane: Pane, code: number): Promise<void> {
  const screen = await pane.shows(AS_BEFORE);
  assert.equal(AS_BEFORE.exec(screen)?.[1], String(code));
  assert.equal(pane.modes(), '1 0', 'the cursor is back, on the first screen');
  assert.doesNotMatch(screen, /shop\.charge_card/u);
}

/** A bridge that runs, on a recording that takes long. @returns its address */
async function startBridge(t: TestContext): Promise<{ readonly url: string; readonly bridge: ChildProcess }> {
  const bridge = spawn(process.execPath, [MAIN, 'run'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...{ PATH: process.env['PATH'], CELERY_BROKER_URL: `recording:${RECORDING}?speed=2` },
      ...{ OTEL_SERVICE_NAME: 'shop', CELERY_OTEL_STATUS_ADDRESS: '0' },
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    },
  });
  t.after(() => bridge.kill('SIGKILL'));
  let log = '';
  bridge.stderr.on('data', (chunk) => {
    log += String(chunk);
  });
  const url = await until(
    'its address',
    () => /http:\/\/127\.0\.0\.1:[1-9]\d{3,}/u.exec(log)?.[0],
    () => log,
  );
  return { url, bridge };
}

describe('top in a terminal', { concurrency: 2 }, () => {
  before(() => ensureRealParts());

  test('a recording fills a window of any size, from the verdict to the keys', async (t) => {
    const pane = openPane(t, PLAYED, { columns: 60, rows: 12 });
    // Also in the middle of the recording all runs of the task may have been counted, with another verdict.
    const ended =
      /^! Degraded: recording: shop\.charge_card fails often: 12 % of\n[\s\S]*shop\.charge_card +162/u;
    const small = (await pane.shows(ended)).trimEnd().split('\n');
    assert.equal(small.length, 12);
    assert.match(small[11] ?? '', /^q end {3}Tab tables/u);
    assert.match(
      small[6] ?? '',
      /^ {2}Task +Started▼ +Succeeded +Failed +Retried$/u,
      'to the last character',
    );
    pane.resize(200, 30);
    const large = (await pane.shows(/Exceptions/u)).trimEnd().split('\n');
    assert.equal(large.length, 30);
    assert.match(large.join('\n'), /^ {2}shop\.count_visitor +2 .*\n/mu);
    pane.resize(20, 4);
    await pane.shows(/^! Degraded: .*…?\n.*\n.*\nq end/u);
    assert.equal(pane.modes(), '0 1');
    pane.press('q');
    await isGivenBack(pane, 0);
  });

  test('keys sort, filter, scroll, change the table and show the help', async (t) => {
    const pane = openPane(t, PLAYED, { columns: 90, rows: 12 });
    await pane.shows(/Started▼[\s\S]*\n. shop\.charge_card/u);
    pane.press('Right');
    await pane.shows(/Succeeded▼[\s\S]*\n. shop\.send_receipt[\s\S]*\n. shop\.charge_card/u);
    pane.press('S');
    await pane.shows(/Succeeded▲[\s\S]*\n. shop\.count_visitor/u);
    pane.press('NPage');
    await pane.shows(/5–8 of 15/u);
    pane.press('/', 'p', 'a', 'r', 'c', 'e', 'l');
    await pane.shows(/1–3 of 3 with “parcel”[\s\S]*\n\/parcel/u);
    pane.press('Enter');
    await pane.shows(/with “parcel”[\s\S]*\nq end/u);
    pane.press('Escape');
    await pane.shows(/1–4 of 15/u);
    pane.press('Tab');
    await pane.shows(/Worker▲[\s\S]*\n. extra-1@shop-c +left/u);
    pane.press('?');
    await pane.shows(/q, Ctrl-C +end\n/u);
    pane.press('3');
    await pane.shows(/Queue +Length▼/u);
    pane.press('C-c');
    await isGivenBack(pane, 0);
  });

  test('Enter opens the page of the row, / finds rows, and Esc returns', async (t) => {
    const pane = openPane(t, PLAYED, { columns: 120, rows: 30 });
    await pane.shows(/Lost +Exceptions[\s\S]*\n▸ shop\.charge_card .*GatewayBusy ×34/u);
    pane.press('Down', 'Down');
    await pane.shows(/\n▸ shop\.pack_parcel/u);
    pane.press('/', 'b', 'u', 's', 'y');
    await pane.shows(/1–1 of 1 with “busy”[\s\S]*\n▸ shop\.charge_card/u);
    pane.press('Enter');
    await pane.shows(/with “busy”[\s\S]*\nq end {3}Tab tables {3}Enter open {3}Esc back {3}\/ find/u);
    pane.press('Enter');
    // The screen may be seen while it is drawn, so all that is expected is waited for.
    await pane.shows(
      /^! Degraded: [\s\S]* Tasks {2}shop\.charge_card\n[\s\S]* Exceptions +GatewayBusy ×34\n +CardDeclined ×6\n +BankClosed ×4\n/u,
    );
    pane.press('Escape');
    await pane.shows(/1–1 of 1 with “busy”/u);
    pane.press('Escape');
    await pane.shows(/1–\d+ of 15/u);
    pane.press('5', 'Enter');
    await pane.shows(/Task +Started▼/u);
    pane.press('q');
    await isGivenBack(pane, 0);
  });

  test('a signal ends it, and the terminal is given back', async (t) => {
    for (const signal of STOP_SIGNALS) {
      const pane = openPane(t, PLAYED);
      await pane.shows(/shop\.charge_card/u);
      process.kill(await pane.pid(), signal);
      await isGivenBack(pane, 0);
    }
  });

  test('colours are for terminals that have them, unless NO_COLOR says otherwise', async (t) => {
    for (const [env, isColoured] of [[{}, true] as const, [{ NO_COLOR: '1' }, false] as const]) {
      const pane = openPane(t, PLAYED, { env });
      await pane.shows(/shop\.charge_card/u);
      assert.equal(pane.coloured().includes('\u001b['), isColoured);
    }
  });

  test('a terminal that can only write gets a report, without escapes', async (t) => {
    const pane = openPane(t, PLAYED, { columns: 250, rows: 60, env: { TERM: 'dumb' } });
    const screen = await pane.shows(/^ended 0:/mu);
    assert.match(screen, /^! Degraded: .*\n[\s\S]*\nshop\.charge_card +162 /u);
    assert.equal(pane.modes(), '1 0');
  });

  test('a bridge that runs is shown by its address, and when it is gone, since when', async (t) => {
    const { url, bridge } = await startBridge(t);
    const pane = openPane(t, [...TOP, url], { columns: 120, rows: 16 });
    await pane.shows(/^. .*\n[\s\S]*recording:.*, connected\n[\s\S]*\n. shop\.charge_card/u);
    bridge.kill('SIGKILL');
    const away = await pane.shows(/^✗ not reachable since \d\d:\d\d:\d\d: .*ECONNREFUSED/u);
    assert.match(away, /The state below is from/u);
    assert.match(away, /shop\.charge_card/u);
    pane.press('q');
    await pane.shows(/^ended 0:/mu);
  });
});
