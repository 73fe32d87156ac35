import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { JsonLogsSerializer, ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import { encodeLogRecords } from '../../../src/otlp/encode/log-message.ts';
import { emittedLogRecord, readableLogRecord } from '../../../src/otlp/encode/readable-log-record.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { fc } from '../../seed.ts';
import { logRecords, usualLogRecord } from './arbitrary-items.ts';
import { decodeLogRecords } from './official-otlp.ts';

const SHOP = serviceResource('shop', { team: 'checkout' });

test('any log record is encoded as by the SDK, field by field', () => {
  fc.assert(
    fc.property(fc.array(logRecords, { minLength: 1, maxLength: 5 }), (items) => {
      const ours = encodeLogRecords([{ resource: SHOP, items }]);
      const theirs = ProtobufLogsSerializer.serializeRequest(
        items.map((record) => readableLogRecord(record, SHOP)),
      );
      assert.ok(theirs !== undefined);
      assert.deepEqual(decodeLogRecords(ours), decodeLogRecords(theirs));
    }),
    { numRuns: 300 },
  );
});

test('a log record of an unknown time has none in JSON either', () => {
  const record = { ...usualLogRecord(1), timeMs: undefined };
  const json = JsonLogsSerializer.serializeRequest([readableLogRecord(record, SHOP)]);
  assert.match(
    Buffer.from(json ?? []).toString(),
    /"timeUnixNano":"0","observedTimeUnixNano":"1795311503953/u,
  );
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
