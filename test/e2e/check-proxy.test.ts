/** A check whose exports go through a proxy that refuses: its report says so, and no library writes to stderr beside it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { startBridge } from './bridge-process.ts';

test('a proxy that refuses is in the report, and nothing else is on stderr', async (t) => {
  const proxy = createServer().on('connect', (_request, socket) => {
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  });
  proxy.listen(0, '127.0.0.1');
  t.after(() => proxy.close());
  await once(proxy, 'listening');
  const address = proxy.address();
  assert.ok(typeof address === 'object' && address !== null);
  const check = startBridge(
    t,
    {
      CELERY_BROKER_URL: 'redis://127.0.0.1:9/0',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel.example:4317',
      grpc_proxy: `http://127.0.0.1:${address.port}`,
    },
    ['check', '--seconds', '1'],
  );
  const { code, stdout } = await check.ended();
  assert.equal(code, 2);
  assert.match(stdout, /✗ .*otel\.example:4317.*proxy/u);
  assert.equal(check.log(), '');
});
