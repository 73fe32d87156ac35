/** Ports for real servers: no two tests get the same one, whichever processes they run in. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** Of 12,000: by chance alone some would be the same. */
const EACH = 150;
const SCRIPT = `
const { freePort } = await import(${JSON.stringify(import.meta.resolve('./free-port.ts'))});
for (let index = 0; index < ${EACH}; index += 1) console.log(await freePort());
`;

test('two processes get no port twice', async () => {
  const ask = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', SCRIPT]);
  const answers = await Promise.all([ask(), ask()]);
  const ports = answers.flatMap(({ stdout }) => stdout.trim().split('\n'));
  assert.equal(ports.length, 2 * EACH);
  assert.equal(new Set(ports).size, ports.length);
});
