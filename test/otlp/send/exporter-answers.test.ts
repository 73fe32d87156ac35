import assert from 'node:assert/strict';
import { STATUS_CODES } from 'node:http';
import { type TestContext, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import type { ExportResult } from '../../../src/otlp/send/exporter.ts';
import { statusBytes } from './backend-messages.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { type GrpcAnswer, respondGrpc, startGrpcReceiver } from './grpc-receiver.ts';
import { startHttpReceiver } from './http-receiver.ts';

type Kind = ExportResult['kind'];

/** OTLP specification, "OTLP/gRPC Response", "Failures": those that are retryable. */
const GRPC_RETRYABLE: readonly number[] = [
  ...[status.CANCELLED, status.DEADLINE_EXCEEDED, status.ABORTED, status.OUT_OF_RANGE, status.UNAVAILABLE],
  status.DATA_LOSS,
];

/** OTLP specification, "OTLP/HTTP Response", "Failures": four are retryable, and no others. */
const HTTP_RETRYABLE: readonly number[] = [429, 502, 503, 504];
const HTTP_REFUSED: readonly number[] = [
  ...[300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 407, 408, 409, 411, 413, 415, 422, 431],
  ...[500, 501, 505, 511],
];

async function grpcResult(t: TestContext, answer: GrpcAnswer, headers = {}): Promise<ExportResult> {
  const receiver = await startGrpcReceiver({ answer: (stream) => respondGrpc(stream, answer) });
  t.after(() => receiver.stop());
  const settings = exporterSettings('grpc', `http://127.0.0.1:${receiver.port}`, { headers });
  const result = await exporterOf(t, settings).export(sampleMetrics());
  assert.equal(receiver.requests.length, 1, 'nothing is sent twice');
  return result;
}

interface Said {
  readonly status?: number;
  readonly contentType?: string;
  readonly body?: string | Uint8Array;
}

async function httpResult(
  t: TestContext,
  protocol: 'http/protobuf' | 'http/json',
  { status = 200, contentType, body = '' }: Said,
  headers = {},
): Promise<ExportResult> {
  const receiver = await startHttpReceiver({
    answer: (response) => {
      response.writeHead(status, {
        location: 'http://127.0.0.1:9/',
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
      });
      response.end(body);
    },
  });
  t.after(() => receiver.stop());
  const settings = exporterSettings(protocol, `http://127.0.0.1:${receiver.port}/v1/metrics`, { headers });
  const result = await exporterOf(t, settings).export(sampleMetrics());
  assert.equal(receiver.requests.length, 1, 'nothing is sent twice');
  return result;
}

const reasonOf = (result: ExportResult): string => ('reason' in result ? result.reason : '');

/** What became of it, and what was said of that: behind the likely cause, where there is one. */
function judged(result: ExportResult): readonly [Kind, words: string] {
  const reason = reasonOf(result);
  return [
    result.kind,
    /^[a-z\d].*? \((?<words>(?:HTTP \d|[A-Z_]+ \(\d).*)\)$/u.exec(reason)?.groups?.['words'] ?? reason,
  ];
}

test('every gRPC status is handled as OTLP specifies, and named with the backend’s message', async (t) => {
  for (let code = 1; code <= 16; code += 1) {
    const kind = GRPC_RETRYABLE.includes(code) ? 'unavailable' : 'refused';
    const name = `${status[code]} (${code})`;
    const result = await grpcResult(t, { status: code, message: 'because of this' });
    assert.deepEqual(judged(result), [kind, `${name}: because of this`]);
    assert.deepEqual(judged(await grpcResult(t, { status: code })), [kind, name]);
  }
});

test('an unknown gRPC status is a refusal', async (t) => {
  assert.equal((await grpcResult(t, { status: 17 })).kind, 'refused');
});

test('RESOURCE_EXHAUSTED is temporary only with a retry delay', async (t) => {
  const kindOf = async (details: Uint8Array) => (await grpcResult(t, { status: 8, details })).kind;
  assert.equal(await kindOf(statusBytes({})), 'refused');
  assert.equal(await kindOf(statusBytes({ retryDelayMs: 2500 })), 'unavailable');
  assert.equal(await kindOf(statusBytes({ retryDelayMs: null })), 'unavailable');
  assert.equal(await kindOf(Buffer.from('not a status')), 'refused');
});

for (const protocol of ['http/protobuf', 'http/json'] as const) {
  test(`${protocol}: every HTTP status is handled as OTLP specifies, and named`, async (t) => {
    for (const status of [...HTTP_RETRYABLE, ...HTTP_REFUSED]) {
      const kind = HTTP_RETRYABLE.includes(status) ? 'unavailable' : 'refused';
      const result = await httpResult(t, protocol, { status });
      assert.deepEqual(judged(result), [kind, `HTTP ${status} ${STATUS_CODES[status]}`]);
    }
    for (const status of [200, 201, 202, 204])
      assert.deepEqual(await httpResult(t, protocol, { status }), { kind: 'success' }, `${status}`);
    assert.deepEqual(await httpResult(t, protocol, { status: 599 }), { kind: 'refused', reason: 'HTTP 599' });
  });

  test(`${protocol}: the backend’s message is found in any kind of response`, async (t) => {
    const json = (value: unknown): Said => ({
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify(value),
    });
    const said: readonly (readonly [Said, string])[] = [
      [{ contentType: 'application/x-protobuf', body: statusBytes({ message: 'too old' }) }, ': too old'],
      [{ contentType: 'application/x-protobuf', body: 'no protobuf' }, ''],
      [json({ code: 3, message: 'too old' }), ': too old'],
      [json({ error: 'too old' }), ': too old'],
      [json({ error: { message: 'too old' } }), ': too old'],
      [json({ message: 7, error: null }), ''],
      [json(null), ''],
      [json(['too old']), ''],
      [{ contentType: 'application/json', body: '{"message":' }, ''],
      [{ contentType: 'text/plain', body: 'too old\r\n' }, ': too old'],
      [{ contentType: 'text/html', body: '<h1>too old</h1>' }, ''],
      [{ body: 'too old' }, ''],
    ];
    for (const [{ contentType, body }, words] of said) {
      const result = await httpResult(t, protocol, {
        status: 400,
        ...(contentType === undefined ? {} : { contentType }),
        ...(body === undefined ? {} : { body }),
      });
      assert.deepEqual(result, { kind: 'refused', reason: `HTTP 400 Bad Request${words}` });
    }
  });
}

test('http: a web page is no response of a backend, even with a success status', async (t) => {
  for (const page of ['<!DOCTYPE html><title>Log in</title>', '\n <html lang="en">Welcome', '<HTML>']) {
    const result = await httpResult(t, 'http/protobuf', { contentType: 'text/html', body: page });
    assert.deepEqual(judged(result), ['refused', 'HTTP 200 OK: a web page']);
  }
});

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: rejected points are reported with the backend’s message, and sent once`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    const outcome = (partial: { rejectedDataPoints?: number; errorMessage?: string }) => {
      backend.answer({ kind: 'take', partial });
      return exporter.export(sampleMetrics());
    };
    const message = 'out of bounds:\n 2 samples older than an hour';
    assert.deepEqual(await outcome({ rejectedDataPoints: 2, errorMessage: message }), {
      kind: 'partial',
      rejectedItems: 2,
      message: 'out of bounds: 2 samples older than an hour',
    });
    assert.deepEqual(await outcome({ rejectedDataPoints: 3 }), {
      kind: 'partial',
      rejectedItems: 3,
      message: '',
    });
    assert.deepEqual(
      await outcome({ errorMessage: 'delta is deprecated' }),
      { kind: 'partial', rejectedItems: 0, message: 'delta is deprecated' },
      'a warning',
    );
    assert.deepEqual(await outcome({}), { kind: 'success' });
    assert.deepEqual(await outcome({ rejectedDataPoints: 0, errorMessage: '' }), { kind: 'success' });
    assert.equal(backend.requests.length, 5);
  });

  test(`${protocol}: a backend’s message is cut to one line of bounded length`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    const message = `a\n\tb\u0000\u001b[31m\u2028c ${'x'.repeat(5000)}`;
    const lineOf = (text: string) => {
      assert.ok(text.length > 900 && text.length <= 1000, `${text.length}`);
      assert.match(text, /a b\\u0000\\u001b\[31m c x+…$/u);
    };
    backend.answer({ kind: 'refuse', message });
    lineOf(reasonOf(await exporter.export(sampleMetrics())));
    backend.answer({ kind: 'take', partial: { rejectedDataPoints: 1, errorMessage: message } });
    const partial = await exporter.export(sampleMetrics());
    assert.ok(partial.kind === 'partial');
    lineOf(partial.message);
  });

  test(`${protocol}: a backend that echoes a header does not bring its value into the log`, async (t) => {
    const backend = await backendOf(t, start);
    const headers = { authorization: 'Bearer abcdefghij', 'x-team-key': 's3cret', 'x-stage': 'x' };
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, { headers }));
    const message = `token abcdefghij of Bearer abcdefghij is not extant, nor s3cret ${'y'.repeat(229)}s3cret`;
    backend.answer({ kind: 'refuse', message });
    const reason = reasonOf(await exporter.export(sampleMetrics()));
    assert.match(reason, /token \*\*\* of \*\*\* is not extant, nor \*\*\* y/u);
    backend.answer({ kind: 'take', partial: { errorMessage: 's3cret is a weak key' } });
    assert.deepEqual(await exporter.export(sampleMetrics()), {
      kind: 'partial',
      rejectedItems: 0,
      message: '*** is a weak key',
    });
  });

  test(`${protocol}: a requested retry delay is honoured, and exports go on after it`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    backend.answer({ kind: 'busy', message: 'overloaded', retryAfterS: 1 });
    const beganMs = performance.now();
    assert.equal((await exporter.export(sampleMetrics())).kind, 'unavailable');
    const throttled = await exporter.export(sampleMetrics());
    assert.equal(throttled.kind, 'unavailable');
    assert.match(reasonOf(throttled), /overloaded; throttled by the backend for another 1 s$/u);
    assert.equal(backend.requests.length, 1);
    backend.answer({ kind: 'take' });
    while ((await exporter.export(sampleMetrics())).kind !== 'success')
      await new Promise((resolve) => setTimeout(resolve, 20));
    const throttledMs = performance.now() - beganMs;
    assert.ok(throttledMs >= 1000, `${throttledMs}`);
    assert.equal(backend.requests.length, 2);
  });

  test(`${protocol}: a backend that asks for a day is sent something again after five minutes`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    backend.answer({ kind: 'busy', message: 'overloaded', retryAfterS: 86_400 });
    await exporter.export(sampleMetrics());
    assert.match(
      reasonOf(await exporter.export(sampleMetrics())),
      /throttled by the backend for another 300 s$/u,
    );
    const nowMs = performance.now();
    t.mock.method(performance, 'now', () => nowMs + 300_000);
    backend.answer({ kind: 'take' });
    assert.equal((await exporter.export(sampleMetrics())).kind, 'success');
  });
}

test('http: Retry-After may be a date, and one in the past is ignored', async (t) => {
  const receiver = await startHttpReceiver();
  t.after(() => receiver.stop());
  const settings = exporterSettings('http/protobuf', `http://127.0.0.1:${receiver.port}/v1/metrics`);
  const requestsOfTwo = async (retryAfter: string) => {
    receiver.answerWith((response) => response.writeHead(429, { 'retry-after': retryAfter }).end());
    const exporter = exporterOf(t, settings);
    const before = receiver.requests.length;
    await exporter.export(sampleMetrics());
    await exporter.export(sampleMetrics());
    return receiver.requests.length - before;
  };
  assert.equal(await requestsOfTwo(new Date(Date.now() + 60_000).toUTCString()), 1);
  assert.equal(await requestsOfTwo(new Date(Date.now() - 60_000).toUTCString()), 2);
  assert.equal(await requestsOfTwo('soon'), 2);
  assert.equal(await requestsOfTwo('0'), 2);
});

test('grpc: a response that claims a compression and names none is reported as that', async (t) => {
  const result = await grpcResult(t, { response: Buffer.from('x'), isFlagged: true });
  assert.equal(result.kind, 'refused');
  assert.match(reasonOf(result), /^the response cannot be read/u);
});
