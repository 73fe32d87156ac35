/**
 * Records the largest messages, which take the most memory in JSON or in base64, to a given file, and prints how far the
 * memory of the process grew.
 */
import assert from 'node:assert/strict';
import { openRecorder } from '../../../src/broker/recording/recorder.ts';
import { MESSAGE } from '../scripted-transport.ts';

const MIB = 1024 * 1024;
const control = Buffer.alloc(MIB, 1);
const wide = Buffer.alloc(MIB, 1);
wide.write('支');
const BODIES = [control, wide, Buffer.alloc(2 * MIB, 0xff), Buffer.alloc(2 * MIB, '"'), control];

const [file = ''] = process.argv.slice(2);
const recorder = openRecorder({ file, replace: false, nowMs: Date.now(), onFailure: assert.fail });
recorder.write(MESSAGE);
const beforeKb = process.memoryUsage.rss() / 1024;
for (const body of [...BODIES, ...BODIES.slice(1)]) recorder.write({ ...MESSAGE, body });
recorder.close();
const grownMb = Math.round((process.resourceUsage().maxRSS - beforeKb) / 1000);
process.stdout.write(JSON.stringify({ recorded: recorder.count(), grownMb }));
