/**
 * The bootstrap installs once, even if several commands run at once, and passes everything through. Each test has its
 * own project with a fake `npm`; the real one runs with the command that started these tests.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';

const BOOTSTRAP = path.resolve(import.meta.dirname, '../../scripts/bootstrap.mjs');

/**
 * The fake npm: records its call, takes a while and leaves what npm leaves: a pinned Node and a copy of the lock file.
 */
const PRETENDED_NPM = `#!/bin/sh
echo "$@" >> npm-calls
sleep 0.3
rm -rf node_modules
mkdir -p node_modules/node/bin
ln -s "$REAL_NODE" node_modules/node/bin/node
sed 's|"node_modules.b":[^}]*}|"node_modules.c":{}|' package-lock.json > node_modules/.package-lock.json
`;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Project {
  readonly folder: string;
  start(script: string, ...args: string[]): ChildProcess;
  run(script: string, ...args: string[]): Promise<Ended>;
  /** The arguments of each call of npm so far. */
  npmCalls(): readonly string[];
}

/** A lock file with one package, `a`, and one that only another platform needs. */
function lockOf(version: string): string {
  const packages = {
    '': { dependencies: { a: version } },
    'node_modules/a': { version, integrity: `sha512-${version}` },
    'node_modules/b': { version: '1.0.0', optional: true },
  };
  return JSON.stringify({ packages });
}

function createProject(t: TestContext, npm = PRETENDED_NPM): Project {
  const folder = mkdtempSync(path.join(tmpdir(), 'bootstrap-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string) => path.join(folder, name);
  mkdirSync(file('scripts'));
  mkdirSync(file('bin'));
  cpSync(BOOTSTRAP, file('scripts/bootstrap.mjs'));
  writeFileSync(file('package.json'), JSON.stringify({ name: 'sample', dependencies: { a: '1.0.0' } }));
  writeFileSync(file('package-lock.json'), lockOf('1.0.0'));
  writeFileSync(file('bin/npm'), npm);
  chmodSync(file('bin/npm'), 0o755);
  const start = (script: string, ...args: string[]) =>
    spawn(process.execPath, [file('scripts/bootstrap.mjs'), script, ...args], {
      cwd: folder,
      env: { ...process.env, PATH: `${file('bin')}:${process.env['PATH']}`, REAL_NODE: process.execPath },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  return {
    folder,
    start,
    async run(script, ...args) {
      const child = start(script, ...args);
      const [stdout, stderr, [code]] = await Promise.all([
        read(child, 'stdout'),
        read(child, 'stderr'),
        once(child, 'exit'),
      ]);
      return { code, stdout, stderr };
    },
    npmCalls: () =>
      existsSync(file('npm-calls')) ? readFileSync(file('npm-calls'), 'utf8').trim().split('\n') : [],
  };
}

async function read(child: ChildProcess, stream: 'stdout' | 'stderr'): Promise<string> {
  let text = '';
  for await (const chunk of child[stream] ?? []) text += String(chunk);
  return text;
}

function writeScript(project: Project, text: string): string {
  writeFileSync(path.join(project.folder, 'scripts/sample.mjs'), text);
  return 'scripts/sample.mjs';
}

test('missing packages are installed once, with a note on stderr only', async (t) => {
  const project = createProject(t);
  const script = writeScript(project, `process.stdout.write('ran');`);
  const first = await project.run(script);
  assert.deepEqual({ code: first.code, stdout: first.stdout }, { code: 0, stdout: 'ran' });
  assert.match(first.stderr, /^Installing the packages/);
  assert.deepEqual(await project.run(script), { code: 0, stdout: 'ran', stderr: '' });
  assert.equal(project.npmCalls().length, 1);
  assert.match(project.npmCalls()[0] ?? '', /^ci .*--include=dev/);
});

test('two commands started at once on a fresh clone install once', async (t) => {
  const project = createProject(t);
  const script = writeScript(project, `process.stdout.write('ran');`);
  const both = await Promise.all([project.run(script), project.run(script)]);
  assert.deepEqual(
    both.map(({ code, stdout }) => ({ code, stdout })),
    [
      { code: 0, stdout: 'ran' },
      { code: 0, stdout: 'ran' },
    ],
  );
  assert.equal(project.npmCalls().length, 1);
});

test('an installation for a script does not build', async (t) => {
  const project = createProject(t, `${PRETENDED_NPM}\necho "$INSTALLING_CELERY_OTEL" > installing\n`);
  await project.run(writeScript(project, ''));
  assert.equal(readFileSync(path.join(project.folder, 'installing'), 'utf8'), '1\n');
});

test('a lock whose owner is gone is taken over', async (t) => {
  const project = createProject(t);
  const gone = spawn('true');
  await once(gone, 'exit');
  mkdirSync(path.join(project.folder, '.cache'));
  writeFileSync(path.join(project.folder, '.cache/install.lock'), String(gone.pid));
  assert.equal((await project.run(writeScript(project, ''))).code, 0);
  assert.equal(existsSync(path.join(project.folder, '.cache/install.lock')), false);
});

test('packages are installed again only if the lock file or the dependencies change', async (t) => {
  const project = createProject(t);
  const write = (name: string, text: string) => writeFileSync(path.join(project.folder, name), text);
  const script = writeScript(project, '');
  await project.run(script);
  write('package.json', JSON.stringify({ dependencies: { a: '1.0.1' } }));
  await project.run(script);
  assert.equal(project.npmCalls().length, 2, 'the wanted dependencies changed');
  write('package-lock.json', lockOf('1.0.1'));
  await project.run(script);
  assert.equal(project.npmCalls().length, 3, 'the lock file changed');
  write('package.json', JSON.stringify({ dependencies: { a: '1.0.1' }, scripts: { a: 'b' } }));
  await project.run(script);
  assert.equal(project.npmCalls().length, 3, 'scripts install nothing');
});

test('packages that were installed with npm directly are not installed again', async (t) => {
  const project = createProject(t);
  const byHand = spawn(path.join(project.folder, 'bin/npm'), ['ci'], {
    cwd: project.folder,
    env: { ...process.env, REAL_NODE: process.execPath },
  });
  await once(byHand, 'exit');
  await project.run(writeScript(project, ''));
  assert.deepEqual(project.npmCalls(), ['ci']);
});

test('if npm fails, its output is shown and nothing runs', async (t) => {
  const project = createProject(t, '#!/bin/sh\necho no route to the registry >&2\nexit 7\n');
  const ended = await project.run(writeScript(project, `process.stdout.write('ran');`));
  assert.deepEqual({ code: ended.code, stdout: ended.stdout }, { code: 1, stdout: '' });
  assert.match(ended.stderr, /no route to the registry\n.*npm ci failed \(7\)/s);
});

test('if npm installed no Node, the error says which script to allow', async (t) => {
  const project = createProject(t, '#!/bin/sh\nmkdir node_modules\n');
  const ended = await project.run(writeScript(project, ''));
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /left no node_modules\/node\/bin\/node.*ignore-scripts/s);
});

test('arguments, the exit code and the working folder pass through, and the pinned Node comes first on the PATH', async (t) => {
  const project = createProject(t);
  const script = writeScript(
    project,
    `process.stdout.write(JSON.stringify([process.argv.slice(2), process.cwd(), process.env.PATH.split(':')[0]]));
     process.exitCode = 78;`,
  );
  const ended = await project.run(script, '--flag', 'two words', '');
  assert.equal(ended.code, 78);
  const pinned = path.join(project.folder, 'node_modules/node/bin');
  assert.deepEqual(JSON.parse(ended.stdout), [['--flag', 'two words', ''], project.folder, pinned]);
});

test('a signal reaches the script once, and the script decides how to exit', async (t) => {
  const project = createProject(t);
  const script = writeScript(
    project,
    `let count = 0;
     process.on('SIGTERM', () => { count += 1; setTimeout(() => process.exit(40 + count), 100); });
     setInterval(() => {}, 1000);
     process.stdout.write('ready');`,
  );
  const child = project.start(script);
  assert.ok(child.stdout);
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [41, null]);
});

test('the exit code shows which signal killed the script', async (t) => {
  const project = createProject(t);
  const ended = await project.run(writeScript(project, `process.kill(process.pid, 'SIGKILL');`));
  assert.equal(ended.code, 128 + 9);
});

/**
 * Starts a script from a shell that is killed once the script runs, and resolves with the script's output after that.
 */
async function orphaned(t: TestContext, lifecycleEvent: string | undefined): Promise<string> {
  const project = createProject(t);
  const script = writeScript(
    project,
    `process.on('SIGTERM', () => process.stdout.write(' SIGTERM', () => process.exit()));
     process.stdout.write('ready');
     setTimeout(() => process.stdout.write(' undisturbed', () => process.exit()), 5000);`,
  );
  const { npm_lifecycle_event: _, ...env } = process.env;
  // As npm runs scripts; with another command after it, so that the shell does not replace itself with it.
  const shell = spawn('/bin/sh', ['-c', `"$0" scripts/bootstrap.mjs ${script}; true`, process.execPath], {
    cwd: project.folder,
    env: {
      ...env,
      ...(lifecycleEvent === undefined ? {} : { npm_lifecycle_event: lifecycleEvent }),
      PATH: `${path.join(project.folder, 'bin')}:${process.env['PATH']}`,
      REAL_NODE: process.execPath,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  for await (const chunk of shell.stdout) {
    if (said === '') shell.kill('SIGKILL');
    said += String(chunk);
  }
  return said;
}

test('a script started by npm gets a SIGTERM when npm is gone; started otherwise, it goes on', async (t) => {
  assert.deepEqual(await Promise.all([orphaned(t, 'sample'), orphaned(t, undefined)]), [
    'ready SIGTERM',
    'ready undisturbed',
  ]);
});
