/** The real Collector is built, started, suspended, stopped and replaced as a test needs it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isPortOpen } from './free-port.ts';
import { type Otelcol, skipWithoutOtelcol, startOtelcol, validateOtelcolConfig } from './otelcol.ts';

const SCRIPTS = resolve(import.meta.dirname, '../../scripts');
const HANGS_FOR_MS = 300;

/** A configuration with nothing but a receiver; it has no health check and no `/metrics`. */
const BARE = `
receivers: { otlp: { protocols: { http: { endpoint: "\${env:OTLP_HTTP_ENDPOINT}" } } } }
exporters: { debug: { verbosity: "\${env:VERBOSITY}" } }
service:
  pipelines: { metrics: { receivers: [otlp], exporters: [debug] } }
  telemetry: { metrics: { level: none } }
`;

/** An empty request of OTLP. @returns the HTTP status of the answer */
async function sendNothing(collector: Otelcol): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${collector.ports.otlpHttp}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  return response.status;
}

describe('a real Collector', { skip: skipWithoutOtelcol() }, () => {
  test('it can be suspended, resumed and replaced by another one on its ports', async (t) => {
    const first = await startOtelcol();
    t.after(() => first.stop());
    assert.equal(await first.isHealthy(), true);
    first.signal('SIGSTOP');
    const answer = sendNothing(first);
    assert.equal(await Promise.race([answer, delay(HANGS_FOR_MS, 'it hangs')]), 'it hangs');
    first.signal('SIGCONT');
    assert.equal(await answer, 200);
    first.signal('SIGSTOP');
    await first.stop();
    assert.match(first.log(), /Shutdown complete/);
    for (const port of Object.values(first.ports)) assert.equal(await isPortOpen(port), false);

    const second = await startOtelcol({ ports: first.ports });
    t.after(() => second.stop());
    assert.equal(await second.isHealthy(), true);
  });

  test('it runs a test’s configuration with the test’s variables', async (t) => {
    const collector = await startOtelcol({ configText: BARE, env: { VERBOSITY: 'basic' } });
    t.after(() => collector.stop());
    assert.equal(await sendNothing(collector), 200);
    assert.equal(await isPortOpen(collector.ports.prometheus), false);
  });

  test('with an invalid configuration it does not start, and reports why', async () => {
    const wrong = { configText: BARE, env: { VERBOSITY: 'loud' } };
    await assert.rejects(validateOtelcolConfig(wrong), /loud/);
    await assert.rejects(startOtelcol(wrong), /loud/);
  });
});

/** A fake Go: it records its calls, and makes a Collector that only knows its version. */
const FAKE_GO = `#!/bin/sh
echo "$1 $2" >> "$GO_LOG"
case "$1 $GO_FAILS" in
  "build yes") echo "first line" >&2; echo "no such module" >&2; exit 1;;
  build*) printf '#!/bin/sh\\necho otelcol version 1.2.3\\n' > otelcol; chmod +x otelcol;;
esac
`;

interface Workshop {
  readonly goModFile: string;
  /** The calls of Go since the last check. */
  newCalls(): readonly string[];
  builds(): readonly string[];
  /** Runs the code with the script's functions in scope. */
  run(code: string, env?: NodeJS.ProcessEnv): { status: number | null; stdout: string; stderr: string };
}

/** A copy of the script with its own cache folder and the fake Go only. */
function workshop(t: TestContext): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'workshop-'));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(join(SCRIPTS, 'otelcol'), join(folder, 'scripts/otelcol'), { recursive: true });
  const script = join(folder, 'scripts/otelcol.ts');
  cpSync(join(SCRIPTS, 'otelcol.ts'), script);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'go'), FAKE_GO, { mode: 0o755 });
  const log = join(folder, 'go.log');
  return {
    goModFile: join(folder, 'scripts/otelcol/go.mod'),
    newCalls() {
      const calls = readFileSync(log, 'utf8').trim().split('\n');
      writeFileSync(log, '');
      return calls.filter((call) => call !== '');
    },
    builds: () => readdirSync(join(folder, '.cache/otelcol')),
    run(code, env) {
      const program = `import { builtOtelcol, ensureOtelcol } from ${JSON.stringify(script)};\n${code}`;
      const path = [bin, '/usr/bin', '/bin'].join(delimiter);
      return spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', program], {
        encoding: 'utf8',
        env: { PATH: path, GO_LOG: log, ...env },
      });
    },
  };
}

const ENSURE = 'console.log(JSON.stringify(ensureOtelcol()));';

test('the Collector is built once, and again after a change of its inputs', (t) => {
  const shop = workshop(t);
  assert.match(
    shop.run('console.log(builtOtelcol().reason);').stdout,
    /not built: node scripts\/otelcol\.ts/,
  );

  const { stdout, stderr } = shop.run(ENSURE);
  assert.match(stdout, /"available":true,.*"version":"1\.2\.3"/);
  assert.match(stderr, /^Building the OpenTelemetry Collector \d\S+ .*\n$/);
  const [generate, ...compile] = shop.newCalls();
  assert.match(generate ?? '', /^run go\.opentelemetry\.io\/collector\/cmd\/builder@v\d+\.\d+\.\d+$/);
  assert.deepEqual(compile, ['build -mod=readonly']);

  assert.equal(shop.run(ENSURE).stdout, stdout);
  assert.deepEqual(shop.newCalls(), []);

  writeFileSync(shop.goModFile, '// Changed.\n', { flag: 'a' });
  assert.notEqual(shop.run(ENSURE).stdout, stdout);
  assert.equal(shop.newCalls().length, 2);
  assert.equal(shop.builds().length, 1);
});

test('tests are skipped if the Collector cannot be built, with the reason, except in CI', (t) => {
  const shop = workshop(t);
  const failing = shop.run(ENSURE, { GO_FAILS: 'yes' });
  assert.match(failing.stdout, /"available":false,"reason":"[^"]*no such module[^"]*Go 1\.\d+ or newer/);
  assert.deepEqual(shop.builds(), []);

  const withoutGo = shop.run(ENSURE, { PATH: dirname(process.execPath) });
  assert.match(withoutGo.stdout, /cannot run Go[^"]*https:\/\/go\.dev\/dl/);

  const strict = shop.run(ENSURE, { GO_FAILS: 'yes', CI: 'true' });
  assert.equal(strict.status, 1);
  assert.match(strict.stderr, /could not be built: no such module/);
});
