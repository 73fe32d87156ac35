/**
 * Every option that holds a secret, beside peers that repeat it in each form: in no output of any command is it to be found. A new
 * option of that kind fails the first test until it has a row here.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { runCommandLine } from '../../src/cli/commands.ts';
import { OPTIONS } from '../../src/config/options.ts';
import { long, longText, method, short, shortText } from '../broker/amqp/frames.ts';
import { processIo, runInProcess } from '../cli/process-io.ts';
import { BACKENDS, backendOf } from '../otlp/send/exporter-backends.ts';
import { listenOnLoopback } from '../otlp/send/loopback-server.ts';
import { freePort } from '../real/free-port.ts';
import { borrowRabbitmq, type Vhosts } from '../real/lent-rabbitmq.ts';
import { FORMS } from '../secret-forms.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';

const SECRET = 'S3cr/t"+%41pw~longer-than-most';
const IN_URL = encodeURIComponent(SECRET);
/** What peers say before it, so that it can be seen that their words were shown. */
const SAID = 'you said';
const WORDS = `${SAID} ${Object.values(FORMS)
  .map((form) => `'${form(SECRET)}'`)
  .join(' ')}`;

let lent: Promise<Vhosts> | undefined;
after(async () => (await lent)?.remove());

function rabbit(): Promise<Vhosts> {
  lent ??= borrowRabbitmq();
  return lent;
}

type Env = Readonly<Record<string, string>>;
type Row = (t: TestContext) => Promise<Env>;

const BROKER: Env = { CELERY_BROKER_URL: 'redis://127.0.0.1:1/0' };
const BACKEND: Env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };

/** By option; `proxy` is the environment’s. */
const ROWS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  broker_url: {
    'a Redis that has no AUTH': async (t) => redis(await evilRedis(t, [])),
    'a Redis that refuses all but the login': async (t) => redis(await evilRedis(t, ['AUTH'])),
    'a Redis that refuses polls and questions': async (t) =>
      redis(await evilRedis(t, ['AUTH', 'CLIENT', 'PSUBSCRIBE', 'SELECT', 'PING', 'INFO'])),
    'RabbitMQ, at the login': async (t) => ({
      ...BACKEND,
      CELERY_BROKER_URL: `amqp://u:${IN_URL}@127.0.0.1:${await evilRabbit(t)}//`,
    }),
  },
  broker_password_file: {
    'a Redis that has no AUTH': async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'celery-otel-secrets-'));
      t.after(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'password'), `${SECRET}\n`);
      const url = `redis://127.0.0.1:${await evilRedis(t, [])}/0`;
      return {
        ...BACKEND,
        CELERY_BROKER_URL: url,
        CELERY_OTEL_BROKER_PASSWORD_FILE: join(folder, 'password'),
      };
    },
  },
  management_url: {
    'an API that refuses the login': async (t) => ({
      ...BACKEND,
      CELERY_BROKER_URL: (await rabbit()).url,
      CELERY_OTEL_MANAGEMENT_URL: `http://u:${IN_URL}@127.0.0.1:${await evilApi(t)}`,
    }),
  },
  sentinel_password: {
    'a sentinel that has no AUTH': async (t) => ({
      ...BACKEND,
      CELERY_BROKER_URL: `sentinel://127.0.0.1:${await evilRedis(t, [])}/0`,
      CELERY_MASTER_NAME: 'shop',
      CELERY_SENTINEL_PASSWORD: SECRET,
    }),
  },
  otlp_headers: perProtocol((endpoint) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: `api-key=${IN_URL}`,
  })),
  'otlp_headers of Basic': perProtocol(
    (endpoint) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Basic%20${encodeURIComponent(FORMS['in base64 with a user']?.(SECRET) ?? '')}`,
    }),
    ['grpc'],
  ),
  // Over gRPC an address has no secret.
  otlp_endpoint: perProtocol(
    (endpoint) => ({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${endpoint}/v1/metrics?key=${IN_URL}` }),
    ['http/protobuf', 'http/json'],
  ),
  status_token: {
    'nobody, who asks for the status with it,': async () => ({
      ...BROKER,
      ...BACKEND,
      CELERY_OTEL_STATUS_TOKEN: SECRET,
    }),
  },
  proxy: Object.fromEntries(
    BACKENDS.flatMap(({ protocol }) =>
      ['http', 'https'].map((scheme): [string, Row] => [
        `a proxy of ${protocol} to ${scheme}`,
        async (t) => ({
          ...BROKER,
          OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
          OTEL_EXPORTER_OTLP_ENDPOINT: `${scheme}://otel.example:4317`,
          [`${scheme}_proxy`]: `http://u:${IN_URL}@127.0.0.1:${await evilProxy(t)}`,
        }),
      ]),
    ),
  ),
};

/** Of a proxy’s refusal there is a sentence of our own, and of its words not all are shown. */
const WORDLESS = /^(?:proxy|status_token)/u;

test('each option that is shown without its value has rows here', () => {
  const sample = 'redis://u:hunter2@h/?k=hunter2';
  const hidden = Object.entries(OPTIONS).filter(([, { format }]) => !format.show(sample).includes('hunter2'));
  const keys = [...hidden.map(([key]) => key), 'broker_password_file', 'otlp_headers of Basic', 'proxy'];
  assert.deepEqual(keys.toSorted(), Object.keys(ROWS).toSorted());
});

describe('planted', { concurrency: true }, () => {
  for (const [option, rows] of Object.entries(ROWS)) {
    for (const [peer, envOf] of Object.entries(rows)) {
      test(`${option}: ${peer} repeats it, and nothing shows it`, async (t) => {
        const env = { OTEL_SERVICE_NAME: 'shop', ...(await envOf(t)) };
        const isWordless = WORDLESS.test(`${option}: ${peer}`);
        const outputs = await outputsOf(
          t,
          env,
          isWordless ? /nothing is listening|proxy/u : new RegExp(SAID, 'u'),
        );
        for (const [name, text] of Object.entries(outputs)) {
          for (const [form, change] of Object.entries(FORMS))
            assert.ok(
              !text.toLowerCase().includes(change(SECRET).toLowerCase()),
              `${name} shows it ${form}: ${text}`,
            );
        }
        if (isWordless) return;
        for (const name of ['status', 'check'])
          assert.ok(outputs[name]?.includes(SAID), `${name} has no word of it: ${outputs[name]}`);
      });
    }
  }
});

test('no library prints it, whatever is to be debugged', async (t) => {
  const check = startBridge(
    t,
    {
      ...redis(await evilRedis(t, ['AUTH'])),
      OTEL_SERVICE_NAME: 'shop',
      DEBUG: '*',
      GRPC_TRACE: 'all',
      GRPC_VERBOSITY: 'DEBUG',
    },
    ['check', '--seconds', '1'],
  );
  const { stdout } = await check.ended();
  const text = stdout + check.log();
  assert.ok(text.includes(SAID));
  for (const [form, change] of Object.entries(FORMS))
    assert.ok(!text.includes(change(SECRET)), `${form}: ${text}`);
});

/** All that the commands print and serve. */
async function outputsOf(t: TestContext, env: Env, awaited: RegExp): Promise<Record<string, string>> {
  const address = `127.0.0.1:${await freePort()}`;
  const asUsual = { ...env, CELERY_COLLECTION_INTERVAL: '0.2', OTEL_METRIC_EXPORT_INTERVAL: '500' };
  const { io, stdout, stderr, send } = processIo({
    ...asUsual,
    LOG_LEVEL: 'debug',
    CELERY_OTEL_STATUS_ADDRESS: address,
  });
  const running = runCommandLine(['run'], io);
  t.after(() => send('SIGTERM'));
  const status = async (path: string): Promise<string> =>
    (await fetch(`http://${address}${path}`, { headers: { authorization: `Bearer ${SECRET}` } })).text();
  await until(
    `${awaited} on the status`,
    async () => awaited.test(await status('/status.json').catch(() => '')),
    stderr,
  );
  const served = {
    status: await status('/status.json'),
    page: await status('/'),
    details: await status('/services/0.json'),
  };
  const top = await runInProcess(['top', '--once', `http://u:${IN_URL}@${address}`]);
  send('SIGTERM');
  await running;
  const check = await runInProcess(['check', '--seconds', '1'], env);
  const json = await runInProcess(['check', '--seconds', '1', '--json'], env);
  const config = await runInProcess(['config', '--all'], asUsual);
  const wrong = await runInProcess(['config', '--tasks-max', 'x'], asUsual);
  return {
    log: stderr() + stdout(),
    ...served,
    check: check.stdout + check.stderr,
    ...Object.fromEntries(
      Object.entries({ top, json, config, wrong }).map(([name, { stdout: out, stderr: err }]) => [
        name,
        out + err,
      ]),
    ),
  };
}

function perProtocol(
  envOf: (endpoint: string) => Env,
  protocols: readonly string[] = BACKENDS.map(({ protocol }) => protocol),
): Readonly<Record<string, Row>> {
  return Object.fromEntries(
    BACKENDS.filter(({ protocol }) => protocols.includes(protocol)).map(({ protocol, start }) => [
      protocol,
      async (t: TestContext) => {
        const backend = await backendOf(t, start);
        backend.answer({ kind: 'busy', message: WORDS });
        const { origin } = new URL(backend.endpoint);
        return { ...BROKER, OTEL_EXPORTER_OTLP_PROTOCOL: protocol, ...envOf(origin) };
      },
    ]),
  );
}

function redis(port: number): Env {
  return { ...BACKEND, CELERY_BROKER_URL: `redis://u:${IN_URL}@127.0.0.1:${port}/0` };
}

async function serve(t: TestContext, connected: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    connected(socket);
  });
  const { port, stop } = await listenOnLoopback(server, {});
  t.after(stop);
  return port;
}

/** It carries out these commands, and repeats the secret when it refuses any other. */
function evilRedis(t: TestContext, allowed: readonly string[]): Promise<number> {
  return serve(t, (socket) => {
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      for (const [, name = '', rest = ''] of chunk.matchAll(
        /\*\d+\r\n\$\d+\r\n(\w+)\r\n((?:\$\d+\r\n.*\r\n)*)/gu,
      )) {
        if (!allowed.includes(name.toUpperCase())) {
          socket.write(`-ERR unknown command '${name}', with args beginning with: ${WORDS}\r\n`);
        } else if (/^psubscribe$/iu.test(name)) {
          const patterns = [...rest.matchAll(/\$\d+\r\n(.*)\r\n/gu)].map(([, pattern = '']) => pattern);
          for (const [at, pattern] of patterns.entries())
            socket.write(`*3\r\n$10\r\npsubscribe\r\n$${pattern.length}\r\n${pattern}\r\n:${at + 1}\r\n`);
        } else {
          socket.write('+OK\r\n');
        }
      }
    });
  });
}

/** It refuses the login, with the response to it. A reason has at most 255 bytes. */
function evilRabbit(t: TestContext): Promise<number> {
  const forms = [SECRET, Buffer.from(`\0u\0${SECRET}`).toString('base64'), IN_URL];
  const words = `ACCESS_REFUSED - Login was refused, ${SAID} ${forms.join(' ')}`;
  return serve(t, (socket) => {
    let greeted = false;
    socket.on('data', () => {
      if (greeted) socket.end(method(0, 10, 50, short(403), shortText(words), short(0), short(0)));
      else
        socket.write(method(0, 10, 10, Buffer.from([0, 9]), long(0), longText('PLAIN'), longText('en_US')));
      greeted = true;
    });
  });
}

/** A management API that refuses the login, with all that it got. */
function evilApi(t: TestContext): Promise<number> {
  const body = JSON.stringify({ error: 'not_authorised', reason: WORDS });
  const head = `HTTP/1.1 401 no\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return serve(t, (socket) => void socket.on('data', () => socket.end(head + body)));
}

/** It refuses, in the status line and in the body. */
function evilProxy(t: TestContext): Promise<number> {
  const line = WORDS.replaceAll(/[^\x20-\x7e]/gu, '');
  const head = `HTTP/1.1 407 ${line}\r\ncontent-type: text/plain\r\ncontent-length: ${WORDS.length}\r\n\r\n`;
  return serve(t, (socket) => void socket.on('data', () => socket.end(head + WORDS)));
}
