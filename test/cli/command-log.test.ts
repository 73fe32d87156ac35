/** The log of a command has what Node warns of, as a line of its own form. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { openLog } from '../../src/cli/command-log.ts';
import { processIo } from './process-io.ts';

test('what Node warns of is a line of the log, and is not printed otherwise', () => {
  const { io, stderr } = processIo();
  const warnings = new EventEmitter();
  warnings.on('warning', () => assert.fail('Node prints it too'));
  openLog('info', { ...io, warnings });
  warnings.emit('warning', new Error('TLS is not\nchecked'));
  const { level, msg } = JSON.parse(stderr());
  assert.deepEqual({ level, msg }, { level: 'warn', msg: 'Node.js warning: TLS is not\\u000achecked' });
});
