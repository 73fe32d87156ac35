/** The status over HTTP, for friends and others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { openStatus, type StatusSource } from '../../src/health/status-server.ts';
import { CeleryOtelError } from '../../src/text/errors.ts';
import { DEADLINE_MS } from '../deadline.ts';

const PAGES: ReadonlySet<string> = new Set(['/', '/services/shop', '/services/0.json']);
const LOOPBACK = { host: '127.0.0.1', port: 0 };

function sourceWith(more: Partial<StatusSource> = {}) {
  const asked = { documents: 0, services: 0 };
  const source: StatusSource = {
    live: () => ({ ok: true }),
    ready: () => ({ ok: false, reason: 'not connected: shop' }),
    document() {
      asked.documents += 1;
      return {
        ...{
          version: 1,
          time: '',
          grade: 'fine',
          summary: 'Fine: 1 broker connected.',
          live: true,
          ready: true,
        },
        ...{ problems: [], exports: [], services: [] },
        process: { version: '1', pid: 1, uptime_s: 1, cpu_s: 1, memory_bytes: 1 },
      };
    },
    service: async (index) => {
      asked.services += 1;
      return index === 0 ? '{"version":1}\n' : undefined;
    },
    row: async (row) => (row.service === 0 ? JSON.stringify(row) : undefined),
    find: async (id) => JSON.stringify({ id }),
    page: (path) => (PAGES.has(path) ? { type: 'text/html', text: '<!doctype html>' } : undefined),
    ...more,
  };
  return { source, asked };
}

async function opened(t: TestContext, more: Partial<StatusSource> = {}, address = LOOPBACK, token?: string) {
  const { source, asked } = sourceWith(more);
  const server = await openStatus({ address, ...(token !== undefined && { token }) }, source);
  t.after(() => server.close());
  return { ...server, asked };
}

/** All that comes back for these bytes, until the server closes. */
async function raw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname.replaceAll(/[[\]]/gu, ''), port: Number(port) });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) });
  return text;
}

test('probes answer with 200 or 503 and the reason, and the status is JSON', async (t) => {
  const { url } = await opened(t);
  const live = await fetch(`${url}/livez`);
  assert.deepEqual([live.status, await live.text()], [200, 'ok\n']);
  const ready = await fetch(`${url}/readyz?verbose`);
  assert.deepEqual([ready.status, await ready.text()], [503, 'not connected: shop\n']);
  const status = await fetch(`${url}/status.json`);
  assert.equal(status.headers.get('content-type'), 'application/json; charset=utf-8');
  const document: unknown = await status.json();
  assert.ok(typeof document === 'object' && document !== null && 'version' in document);
  const head = await fetch(`${url}/livez`, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

test('nothing else is there, and only GET and HEAD are answered', async (t) => {
  const { url, asked } = await opened(t);
  for (const path of [
    '/status',
    '/services/0',
    '/services/00000.json',
    '/services/1.json',
    '/livez/',
    '/../status.json',
    '/status.json%00',
    '//livez',
  ]) {
    assert.match(
      await raw(url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
      /^HTTP\/1\.1 40[04] /u,
      path,
    );
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH']) {
    const answer = await raw(url, `${method} /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 405 .*\r\nAllow: GET, HEAD\r\n/su, method);
  }
  assert.equal(asked.documents, 0);
});

test('a document is made once a second, however often it is asked for', async (t) => {
  const { url, asked } = await opened(t);
  const begun = performance.now();
  await Promise.all(Array.from({ length: 40 }, async () => (await fetch(`${url}/status.json`)).text()));
  const seconds = Math.floor((performance.now() - begun) / 1000);
  assert.ok(asked.documents >= 1 && asked.documents <= 1 + seconds, `${asked.documents} in ${seconds} s`);
});

test('whatever text leads to loopback, other names are refused there', async (t) => {
  const hosts = ['127.1', '2130706433', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1', 'localhost', '127.9.9.9'];
  for (const host of hosts) {
    const { url, isOpen } = await opened(t, {}, { host, port: 0 });
    const { port } = new URL(url);
    assert.equal(isOpen, false, host);
    const at = host.startsWith('0:')
      ? '[::1]'
      : host === '127.9.9.9'
        ? host
        : host === 'localhost'
          ? host
          : '127.0.0.1';
    const answer = await raw(
      `http://${at}:${port}`,
      'GET /status.json HTTP/1.1\r\nHost: evil.example\r\n\r\n',
    );
    assert.match(answer, /^HTTP\/1\.1 421 /u, host);
    const own = host.includes(':') ? `[${host}]` : host;
    const named = await raw(`http://${at}:${port}`, `GET /livez HTTP/1.1\r\nHost: ${own}:${port}\r\n\r\n`);
    assert.match(named, /^HTTP\/1\.1 200 /u, own);
  }
});

test('with a token only the probes are open', async (t) => {
  const token = 'S3cret-token-of-the-status';
  const { url, asked, isOpen } = await opened(t, {}, { host: '0.0.0.0', port: 0 }, token);
  assert.equal(isOpen, false);
  const { port } = new URL(url);
  const ask = async (path: string, authorization?: string) =>
    fetch(
      `http://127.0.0.1:${port}${path}`,
      authorization === undefined ? {} : { headers: { authorization } },
    );
  const basic = (user: string) => `Basic ${Buffer.from(user).toString('base64')}`;
  for (const path of ['/livez', '/readyz?x']) assert.notEqual((await ask(path)).status, 401, path);
  for (const path of [
    '/',
    '/status.json',
    '/services/0.json',
    '/events',
    '/services/shop',
    '/livez/',
    '/nothing',
    '/livez%2f..%2fstatus.json',
  ])
    assert.equal((await ask(path)).status, 401, path);
  for (const wrong of [
    '',
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
    `Token ${token}`,
    token,
    basic(`${token}:`),
    basic(token),
    'Bearer',
    `Bearer ${'x'.repeat(4000)}`,
  ])
    assert.equal((await ask('/status.json', wrong)).status, wrong === basic(token) ? 200 : 401, wrong);
  assert.equal(asked.documents, 1);
  for (const right of [`Bearer ${token}`, `bearer  ${token}`, basic(`anybody:${token}`), basic(`:${token}`)])
    assert.equal((await ask('/status.json', right)).status, 200, right);
  const denied = await ask('/');
  assert.match(denied.headers.get('www-authenticate') ?? '', /Bearer realm.*Basic realm/u);
  assert.doesNotMatch(await denied.text(), new RegExp(token, 'u'));
});

test('on loopback only addresses and localhost are answered, so that no other site’s name can lead a browser there', async (t) => {
  const { url, asked } = await opened(t);
  const statusOf = async (host: string): Promise<string | undefined> =>
    /^HTTP\/1\.1 (\d+)/u.exec(await raw(url, `GET /status.json HTTP/1.1\r\n${host}\r\n`))?.[1];
  for (const host of [
    'evil.example',
    'evil.example:9909',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'evil.example/.localhost',
    'evil.example .localhost',
    'evil.example:80@.localhost',
    '[x]',
  ])
    assert.equal(await statusOf(`Host: ${host}\r\n`), '421', host);
  assert.equal(asked.documents, 0);
  for (const host of [
    '127.0.0.1',
    '127.0.0.1:9909',
    '[::1]:9909',
    'localhost',
    'LOCALHOST:1',
    'shop.localhost',
    '10.1.2.3',
  ])
    assert.equal(await statusOf(`Host: ${host}\r\n`), '200', host);
  const open = await opened(t, {}, { host: '0.0.0.0', port: 0 });
  const { port } = new URL(open.url);
  assert.match(
    await raw(`http://127.0.0.1:${port}`, 'GET /livez HTTP/1.1\r\nHost: shop.example\r\n\r\n'),
    /^HTTP\/1\.1 200 /u,
    'a name of its own, where others may ask',
  );
});

test('a body, huge or malformed headers and a slow request change nothing', async (t) => {
  const { url } = await opened(t);
  const ok = /^HTTP\/1\.1 200 /u;
  assert.match(
    await raw(
      url,
      `GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n${'x'.repeat(100_000)}`,
    ),
    ok,
  );
  assert.match(
    await raw(url, `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`),
    /^HTTP\/1\.1 431 /u,
  );
  assert.match(
    await raw(url, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
    /^HTTP\/1\.1 431 /u,
  );
  assert.match(await raw(url, '\u0016\u0003\u0001 nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /u);
  assert.match(
    await raw(url, 'GET /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n'),
    /^HTTP\/1\.1 400 /u,
  );
  // One that never ends is cut off.
  assert.match(await raw(url, 'GET /livez HTTP/1.1\r\nX-Slow: '), /^HTTP\/1\.1 408 /u);
  assert.equal((await fetch(`${url}/livez`)).status, 200);
});

test('connections that say nothing are closed, and keep nobody out, however many there are', async (t) => {
  const { url } = await opened(t);
  const { hostname, port } = new URL(url);
  const silent = Array.from({ length: 200 }, () => connect({ host: hostname, port: Number(port) }));
  for (const socket of silent) socket.on('error', () => undefined).resume();
  t.after(() => {
    for (const socket of silent) socket.destroy();
  });
  const closed = silent.map((socket) => once(socket, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) }));
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  await Promise.all(closed);
});

test('an address that is taken, or of another host, is an error that names it', async (t) => {
  const { url } = await opened(t);
  const port = Number(new URL(url).port);
  for (const address of [
    { host: '127.0.0.1', port },
    { host: '203.0.113.1', port: 0 },
  ]) {
    await assert.rejects(openStatus({ address }, sourceWith().source), (error) => {
      assert.ok(error instanceof CeleryOtelError);
      assert.equal(error.code, 'STATUS_UNAVAILABLE');
      assert.match(
        error.message,
        new RegExp(`^status_address ${address.host}:${address.port}: .*E?ADDR`, 'u'),
      );
      return true;
    });
  }
});

test('on IPv6 its address is in brackets', async (t) => {
  const { url } = await opened(t, {}, { host: '::1', port: 0 });
  assert.match(url, /^http:\/\/\[::1\]:\d+$/u);
  assert.equal((await fetch(`${url}/livez`)).status, 200);
});

/** What a stream sends until there are so many documents of it. */
async function documentsOf(url: string, count: number): Promise<readonly string[]> {
  const response = await fetch(`${url}/events`, { signal: AbortSignal.timeout(DEADLINE_MS) });
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  let text = '';
  assert.ok(response.body !== null);
  for await (const chunk of response.body) {
    text += Buffer.from(chunk).toString();
    if (text.split('\n\n').length > count) break;
  }
  return text.split('\n\n').slice(0, count);
}

test('all who listen get the same documents, made once a second for all', async (t) => {
  const { url, asked } = await opened(t);
  const begun = performance.now();
  const all = await Promise.all(Array.from({ length: 20 }, () => documentsOf(url, 3)));
  const seconds = Math.floor((performance.now() - begun) / 1000);
  for (const documents of all)
    for (const document of documents) assert.match(document, /^data: \{"version":1,.*\}$/u);
  assert.ok(asked.documents >= 2 && asked.documents <= 2 + seconds, `${asked.documents} in ${seconds} s`);
  const made = asked.documents;
  await new Promise((resolve) => setTimeout(resolve, 3500));
  assert.ok(asked.documents <= made + 1, 'nobody listens, so none is made');
  const head = await fetch(`${url}/events`, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

test('the oldest of many who listen gives way, and those who listen keep no probe out', async (t) => {
  const { url } = await opened(t);
  const { hostname, port } = new URL(url);
  const listening = Array.from({ length: 40 }, () => connect({ host: hostname, port: Number(port) }));
  t.after(() => {
    for (const socket of listening) socket.destroy();
  });
  for (const socket of listening) {
    socket.on('error', () => undefined).write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    socket.resume();
  }
  const [first] = listening;
  assert.ok(first !== undefined);
  await once(first, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) });
  assert.equal((await fetch(`${url}/livez`)).status, 200);
});

test('the document of a service is made once for all who ask meanwhile, and its failure is said', async (t) => {
  const { url, asked } = await opened(t);
  const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(`${url}/services/0.json`)));
  assert.deepEqual(await answers[0]?.json(), { version: 1 });
  assert.ok(asked.services < 10, `${asked.services}`);
  const { url: broken } = await opened(t, { service: () => Promise.reject(new Error('no')) });
  assert.equal((await fetch(`${broken}/services/0.json`)).status, 503);
});

test('the page is served with its policy', async (t) => {
  const { url } = await opened(t);
  for (const path of ['/', '/services/shop', '/services/shop?sort=-failed']) {
    const { headers, status } = await fetch(`${url}${path}`);
    assert.equal(status, 200);
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'self'; base-uri 'none';/u);
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
  }
  const head = await fetch(`${url}/services/shop`, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  const document = await fetch(`${url}/services/0.json`);
  assert.equal(document.headers.get('content-type'), 'application/json; charset=utf-8');
});

test('one task, queue, worker or id is found by its name, whatever that is', async (t) => {
  const { url } = await opened(t);
  const names = ['shop.pay', 'a/b', '%', '../..', '0.json', 'w1@häuser', '__proto__', 'a?b#c', '\u0000'];
  for (const name of names) {
    for (const kind of ['task', 'queue', 'worker']) {
      const response = await fetch(`${url}/details/0/${kind}s/${encodeURIComponent(name)}`);
      assert.deepEqual(await response.json(), { service: 0, kind, name });
    }
    const response = await fetch(`${url}/details/find/${encodeURIComponent(name)}`);
    assert.deepEqual(await response.json(), { id: name });
  }
  for (const path of [
    '1/tasks/x',
    '0/tasks/',
    '0/others/x',
    '0/tasks/a/b',
    '0/tasks/%',
    'find/',
    'find/%E0%A4%A',
  ])
    assert.equal((await fetch(`${url}/details/${path}`)).status, 404, path);
});

test('a document that cannot be made now is none; one is made for all who ask, and with a token only for its friends', async (t) => {
  let made = 0;
  const row = async () => {
    made += 1;
    return '{}';
  };
  const { url } = await opened(t, { row, find: () => Promise.reject(new Error('busy')) });
  assert.equal((await fetch(`${url}/details/find/x`)).status, 503);
  await Promise.all(Array.from({ length: 20 }, async () => (await fetch(`${url}/details/0/tasks/x`)).text()));
  assert.ok(made < 20, String(made));
  const token = 'S3cret-token-of-the-status';
  const guarded = await opened(t, {}, LOOPBACK, token);
  for (const path of ['find/x', '0/tasks/x']) {
    assert.equal((await fetch(`${guarded.url}/details/${path}`)).status, 401);
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await fetch(`${guarded.url}/details/${path}`, { headers })).status, 200);
  }
});
