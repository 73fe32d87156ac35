/**
 * `npm run test:oldest`: runs the fast tests on the oldest Node that `engines` allows. That Node is the npm
 * package `node`, installed once into the project’s cache folder. As long as it has the V8 of the pinned Node, on which all tests
 * run, tests of code that uses no module of Node are left out: for them, both are the same.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { reachesNode } from './node-users.mjs';

const ROOT = path.resolve(import.meta.dirname, '..');
const VERSION = manifest.engines.node.replace('>=', '');
const FOLDER = path.join(ROOT, `.cache/node-${VERSION}`);
const NODE = path.join(FOLDER, 'node_modules/node/bin/node');
/** Excluded: these start TypeScript programs without our options. */
const START_PROGRAMS = new Set([
  'cli/main',
  'cli/starter',
  'contract/importing',
  'otlp/send/exporter-process',
]);

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 */
function run(command, args, cwd, env = process.env) {
  const { status, error } = spawnSync(command, args, { cwd, env, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/**
 * Without what follows the patch, which is Node’s own.
 * @param {string} node
 */
function v8Of(node) {
  const { stdout } = spawnSync(node, ['--print', 'process.versions.v8'], { encoding: 'utf8' });
  return stdout.trim().replace(/-.*/u, '');
}

if (!existsSync(NODE)) {
  mkdirSync(FOLDER, { recursive: true });
  const allowScripts = { [`node@${VERSION}`]: true };
  writeFileSync(path.join(FOLDER, 'package.json'), JSON.stringify({ private: true, allowScripts }));
  run('npm', ['install', '--loglevel=error', '--no-audit', '--no-fund', `node@${VERSION}`], FOLDER);
}
process.stdout.write(`Node ${VERSION}\n`);
const hasSameV8 = v8Of(NODE) === v8Of(process.execPath);
// The defaults of newer versions.
const NODE_OPTIONS = '--experimental-strip-types --disable-warning=ExperimentalWarning';
const PATH = [path.dirname(NODE), process.env['PATH']].join(path.delimiter);
const files = globSync('test/**/*.test.ts', { cwd: ROOT }).filter(
  (file) =>
    !START_PROGRAMS.has(file.replace(/^test\/|\.test\.ts$/gu, '')) &&
    !(hasSameV8 && !reachesNode(file, ROOT)),
);
// The pinned Node has made all runs of property tests.
const env = { RUNS: '0.5', ...process.env, NODE_OPTIONS, PATH };
run(NODE, [path.join(ROOT, 'scripts/test.ts'), '--fast', ...files.sort()], ROOT, env);
