import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { JsonLogsSerializer, ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import { emittedLogRecord } from '../../../src/otlp/encode/emitted-log-record.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { fc } from '../../seed.ts';
import { ENCODINGS } from '../export/serialised.ts';
import { logRecords, usualLogRecord } from './arbitrary-items.ts';
import { decodeLogRecords, readJson } from './official-otlp.ts';
import { readableLogRecord } from './readable-log-record.ts';

const SHOP = serviceResource('shop', { team: 'checkout' });
const { encode } = SIGNALS.logs;

test('any log record is encoded as by the SDK, field by field, in each encoding', () => {
  fc.assert(
    fc.property(fc.array(logRecords, { minLength: 1, maxLength: 5 }), (items) => {
      const theirs = ProtobufLogsSerializer.serializeRequest(
        items.map((record) => readableLogRecord(record, SHOP)),
      );
      assert.ok(theirs !== undefined);
      for (const encoding of ENCODINGS) {
        const ours = encode[encoding]([{ resource: SHOP, items }]);
        assert.deepEqual(decodeLogRecords(ours, encoding), decodeLogRecords(theirs));
      }
    }),
    { numRuns: 300 },
  );
});

test('a usual log record is what the SDK writes in JSON', () => {
  const [record, alone] = [usualLogRecord(1), { ...usualLogRecord(2), traceId: '', spanId: '', flags: 0 }];
  const theirs = JsonLogsSerializer.serializeRequest(
    [record, alone].map((each) => readableLogRecord(each, SHOP)),
  );
  const ours = encode.json([{ resource: SHOP, items: [record, alone] }]);
  assert.deepEqual(readJson(ours), readJson(theirs));
});

test('a log record for a LoggerProvider has its own span context, or none', () => {
  const { context = ROOT_CONTEXT, ...rest } = emittedLogRecord(usualLogRecord(1));
  assert.deepEqual(trace.getSpanContext(context), {
    traceId: '000000016c284fe5aa467adb16d15d7d',
    spanId: 'a8e6952400000001',
    traceFlags: 3,
  });
  assert.deepEqual(rest.timestamp, [1795311503, 950424072]);
  assert.deepEqual(rest.observedTimestamp, [1795311503, 953424072]);
  assert.equal(rest.eventName, 'messaging.process.exception');
  const alone = emittedLogRecord({ ...usualLogRecord(1), traceId: '', spanId: '', timeMs: undefined });
  assert.equal(alone.context, ROOT_CONTEXT);
  assert.ok(!('timestamp' in alone));
});
