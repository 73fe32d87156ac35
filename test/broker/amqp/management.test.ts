/** What RabbitMQ’s management API says of its queues, and what becomes of a poll when it says something else, or nothing. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { QueueListing } from '../../../src/broker/amqp/management.ts';
import { type AmqpUrl, parseManagementUrl } from '../../../src/broker/broker-url.ts';
import { listenOnLoopback } from '../../otlp/send/loopback-server.ts';
import { makeCertificates } from '../../real/certificates.ts';
import { freePort } from '../../real/free-port.ts';
import { addressOf } from '../observed-session.ts';

const signal = new AbortController().signal;

function rabbit(url = 'amqp://me:broker-password@127.0.0.1/shop'): AmqpUrl {
  const address = addressOf(url);
  if (!('vhost' in address)) throw new Error('no address of RabbitMQ');
  return address;
}

function listingAt(text: string): QueueListing {
  const parsed = parseManagementUrl(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return new QueueListing(parsed.url);
}

async function served(t: TestContext, answer: RequestListener): Promise<string> {
  const { port, stop } = await listenOnLoopback(http.createServer(answer), {});
  t.after(stop);
  return `http://127.0.0.1:${port}`;
}

const page = (items: unknown, pages: unknown = 1): string => JSON.stringify({ items, page_count: pages });

/** Replies with a body. */
const saying =
  (body: string | Buffer, status = 200, headers: Readonly<Record<string, string>> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

test('it asks for the names in the virtual host, with the login of the address, or else that of the broker', async (t) => {
  const requests: (readonly [string | undefined, string | undefined])[] = [];
  const origin = await served(t, ({ url, headers }, response) => {
    requests.push([url, headers.authorization]);
    response.end(page([{ name: 'orders', messages: 5, auto_delete: false, exclusive: false }]));
  });
  const vhost = 'amqp://me:broker-password@127.0.0.1/a%2Fb%25%20%3F..';
  const found = await listingAt(`${origin}/prefix`).read(rabbit(vhost), signal);
  assert.deepEqual(found, { names: ['orders'], areAll: true, incomplete: [] });
  await listingAt(origin.replace('//', '//you:other%20password@')).read(rabbit(), signal);
  const basic = (login: string): string => `Basic ${Buffer.from(login).toString('base64')}`;
  assert.deepEqual(
    requests.map(([, login]) => login),
    [basic('me:broker-password'), basic('you:other password')],
  );
  assert.match(requests[0]?.[0] ?? '', /^\/prefix\/api\/queues\/a%2Fb%25%20%3F\.\.\?page=1&.*columns=name,/u);
});

test('queues of events, of remote control and of replies are no queues of tasks, nor what is none', async (t) => {
  const lasting = { auto_delete: false, exclusive: false };
  const items = [
    ...[{ name: 'celeryev.0b9', ...lasting }, { name: 'w1@host.celery.pidbox' }],
    ...[{ name: '12.reply.celery.pidbox' }, { name: 'result-of-rpc', auto_delete: true, exclusive: false }],
    { name: 'amq.gen-1', auto_delete: false, exclusive: true },
    { name: 'expires', ...lasting, arguments: { 'x-expires': 1000 } },
    { name: 'by-policy', ...lasting, effective_policy_definition: { expires: 1000 } },
    ...[{ name: '__proto__', messages: 1 }, { name: 'a\u001b[31m%/b' }],
    ...[null, 7, 'orders', [], { name: 7 }, { name: ['orders'] }, {}, { name: '' }],
  ];
  const found = await listingAt(await served(t, saying(page(items)))).read(rabbit(), signal);
  assert.deepEqual(found, { names: ['__proto__', 'a\u001b[31m%/b'], areAll: true, incomplete: [] });
});

test('it asks once a minute, however often it is read and however it ended; another broker is asked at once', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  let [requests, status] = [0, 200];
  const origin = await served(t, (_, response) => {
    requests += 1;
    response.writeHead(status).end(page([{ name: 'orders' }]));
  });
  const listing = listingAt(origin);
  const readAt = (ms: number, broker = rabbit()) => {
    nowMs = ms;
    return listing.read(broker, signal);
  };
  const first = await readAt(0);
  assert.equal(await readAt(59_999), first);
  status = 500;
  const failed = await readAt(60_000);
  assert.deepEqual([failed.names, failed.areAll, failed.incomplete.length], [['orders'], false, 1]);
  assert.equal(await readAt(119_999), failed);
  assert.equal(requests, 2);
  const other = await readAt(119_999, rabbit('amqp://me:pw@127.0.0.1/other'));
  assert.deepEqual([other.names, requests], [[], 3]);
});

test('at most ten pages are read, and more queues are reported', async (t) => {
  let requests = 0;
  const origin = await served(t, (_, response) => {
    requests += 1;
    response.end(page([{ name: `q${requests}` }], 1e12));
  });
  const { names, areAll, incomplete } = await listingAt(origin).read(rabbit(), signal);
  assert.deepEqual([names.length, requests, areAll], [10, 10, false]);
  assert.match(incomplete.join(), /lists 5000 queues of RabbitMQ, the longest ones, and there are more/u);
});

test('a page that has vanished is the end of the list', async (t) => {
  const origin = await served(t, ({ url = '' }, response) => {
    if (url.includes('page=1&')) response.end(page([{ name: 'orders' }], 2));
    else response.writeHead(400).end('{"error":"page_out_of_range","reason":"Page out of range"}');
  });
  const found = await listingAt(origin).read(rabbit(), signal);
  assert.deepEqual(found, { names: ['orders'], areAll: true, incomplete: [] });
});

const NOT_THE_API = /correct management_url, if this is not the management API of RabbitMQ/u;

/** Replies → what is reported. */
const HOSTILE: Readonly<Record<string, readonly [RequestListener, RegExp]>> = {
  'no JSON': [saying('<html>hello</html>'), NOT_THE_API],
  'a list instead of a page': [saying('[{"name":"orders"}]'), NOT_THE_API],
  'items that are no list': [saying(page({ name: 'orders' })), NOT_THE_API],
  'a number of pages that is none': [saying(page([], '1')), NOT_THE_API],
  null: [saying('null'), NOT_THE_API],
  'a body without an end': [
    (_, response) => {
      const chunk = Buffer.alloc(65_536, '[');
      const write = (): void => {
        while (!response.destroyed && response.write(chunk)) {}
      };
      response.on('drain', write);
      write();
    },
    /a reply has more than 2097152 bytes/u,
  ],
  'deep nesting': [
    saying(`{"items":${'['.repeat(100_000)}${']'.repeat(100_000)},"page_count":1}`),
    NOT_THE_API,
  ],
  'a million small values': [saying(page(Array(300_000).fill(0))), NOT_THE_API],
  'a redirect': [
    saying('', 302, { location: 'http://127.0.0.1:1/' }),
    /redirects, which is not followed: .* \(HTTP 302\)/u,
  ],
  'a page of another server': [saying('<html>Not found</html>', 404), NOT_THE_API],
  'a proxy without a server': [saying('Bad gateway', 502), /a proxy before it fails.*\(HTTP 502\)/u],
  'an end in the middle': [
    (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{');
      setImmediate(() => response.destroy());
    },
    NOT_THE_API,
  ],
  'no HTTP': [(request) => void request.socket.end('AMQP\0\0\u0009\u0001'), NOT_THE_API],
  silence: [() => undefined, /RabbitMQ is busy, or a firewall .*\(no reply within 3000 ms\)/u],
};

for (const [what, [answer, expected]] of Object.entries(HOSTILE)) {
  test(`${what}: is reported, with a remedy, and lists nothing`, async (t) => {
    const origin = await served(t, answer);
    const found = await listingAt(origin).read(rabbit(), signal);
    assert.deepEqual([found.names, found.areAll, found.incomplete.length], [[], false, 1]);
    assert.match(found.incomplete.join(), expected);
    assert.ok(found.incomplete[0]?.startsWith(`management_url ${origin}: `), found.incomplete.join());
  });
}

test('where nothing listens, the remedy is the plugin', async () => {
  const { incomplete } = await listingAt(`http://127.0.0.1:${await freePort()}`).read(rabbit(), signal);
  assert.match(incomplete.join(), /nothing is listening there: enable the plugin .*ECONNREFUSED/u);
});

test('over TLS, the authority of the broker is trusted, and no other', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-management-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const { caFile, certFile, keyFile } = makeCertificates(join(folder, 'tls'));
  const server = https.createServer(
    { cert: readFileSync(certFile), key: readFileSync(keyFile) },
    saying(page([{ name: 'orders' }])),
  );
  const { port, stop } = await listenOnLoopback(server, {});
  t.after(stop);
  const readWith = (query: string, scheme = 'https') =>
    listingAt(`${scheme}://127.0.0.1:${port}`).read(rabbit(`amqps://me:pw@127.0.0.1/shop${query}`), signal);
  assert.deepEqual((await readWith(`?ssl_ca_certs=${caFile}`)).names, ['orders']);
  assert.deepEqual((await readWith('?ssl_cert_reqs=none')).names, ['orders']);
  assert.match((await readWith('')).incomplete.join(), /TLS fails: .*set ssl_ca_certs/u);
  const missing = await readWith(`?ssl_ca_certs=${join(folder, 'missing.pem')}`);
  assert.match(missing.incomplete.join(), /cannot read ssl_ca_certs/u);
  assert.match((await readWith('', 'http')).incomplete.join(), NOT_THE_API);
  const plain = await served(t, saying(page([])));
  const { incomplete } = await listingAt(plain.replace('http', 'https')).read(rabbit(), signal);
  assert.match(incomplete.join(), /there is no TLS: write http:\/\//u);
});

test('an end of the session is no failure', async (t) => {
  const ending = new AbortController();
  const origin = await served(t, () => ending.abort());
  const found = await listingAt(origin).read(rabbit(), ending.signal);
  assert.deepEqual(found, { names: [], areAll: false, incomplete: [] });
});
