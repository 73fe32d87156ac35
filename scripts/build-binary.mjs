/**
 * `npm run build:binary`: makes `dist/celery-otel`, one executable for the machine it runs on, which needs no Node: the
 * program as one script within a copy of the Node that runs this (Node's single executable application). Linux only.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';

const ROOT = path.resolve(import.meta.dirname, '..');
const BINARY = path.resolve(process.argv[2] ?? path.join(ROOT, 'dist/celery-otel'));
/** The mark in Node’s executable that says whether a program is in it (Node’s documentation, "Single executable applications"). */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const POSTJECT = path.join(ROOT, 'node_modules/.bin/postject');
/** What `src/cli/package-file.ts` reads. */
const ASSETS = globSync(['schema/*.json', 'otel-config/**/*.yaml', 'page/*.{css,html,js,svg}'], {
  cwd: ROOT,
});

if (process.platform !== 'linux')
  throw new Error('build:binary works on Linux only: elsewhere the executable has to be signed');

const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-binary-'));
try {
  const script = path.join(folder, 'main.cjs');
  await build({
    entryPoints: [path.join(ROOT, 'src/cli/main.ts')],
    outfile: script,
    bundle: true,
    minify: true,
    // Names of classes are part of log lines.
    keepNames: true,
    platform: 'node',
    target: `node${process.versions.node}`,
    format: 'cjs',
    // Only files of the package are found by it, and these are assets.
    define: { 'import.meta.url': '"file:///"' },
    logLevel: 'warning',
  });
  const blob = path.join(folder, 'program.blob');
  const settings = path.join(folder, 'sea.json');
  const assets = Object.fromEntries(ASSETS.map((name) => [name, path.join(ROOT, name)]));
  writeFileSync(
    settings,
    JSON.stringify({ main: script, output: blob, assets, disableExperimentalSEAWarning: true }),
  );
  run(process.execPath, ['--experimental-sea-config', settings]);
  mkdirSync(path.dirname(BINARY), { recursive: true });
  copyFileSync(process.execPath, BINARY);
  chmodSync(BINARY, 0o755);
  run(POSTJECT, [BINARY, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE]);
} finally {
  rmSync(folder, { recursive: true });
}
process.stdout.write(`${BINARY} is built. It needs nothing else.\n`);

/**
 * Its output is shown only if it fails: postject warns of sections that it does not touch.
 * @param {string} command
 * @param {readonly string[]} args
 */
function run(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stdout}${stderr}`);
}
