/**
 * The package as users get it: packed from git, installed into an empty folder, run and imported; and a globally
 * installed clone. Only files in git are used.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import { VERSION } from '../../src/self/version.ts';
import { DEADLINE_MS, TEST_LIMIT_MS } from '../deadline.ts';
import { runChild } from './child.ts';
import { IMPORTING, type Imported } from './importing.ts';
import { PUBLIC_TYPES, PUBLIC_VALUES } from './public-names.ts';
import { ROOT, readSources } from './sources.ts';

/** npm uses the user’s registry settings, but not the variables of the npm that runs these tests. */
const NPM_ENV = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:npm_|NODE_TEST_CONTEXT$|NODE_ENV$)/iu.test(name)),
);
/** The environment of a plain shell, without npm, these tests or telemetry. */
const PLAIN_ENV = {
  PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
  HOME: process.env['HOME'],
};

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

interface Bill {
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes: readonly { readonly content: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface LockRow {
  readonly dev?: boolean;
  readonly version?: string;
  readonly integrity?: string;
}

let folder: string;
let packed: Packed;

async function done(command: string, cwd: string, ...args: string[]): Promise<string> {
  // Each of npm’s commands installs and builds, two at a time.
  const ended = await runChild(command, args, { cwd, env: NPM_ENV, timeoutMs: 3 * TEST_LIMIT_MS });
  assert.equal(ended.code, 0, `${command} ${args.join(' ')}\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

/** Fast if the packages are cached; npm 12 fetches nothing from git by default. */
const npm = (cwd: string, ...args: string[]) =>
  done(
    'npm',
    cwd,
    ...args,
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--allow-git=all',
  );

/** A repository with one commit: the current files. */
async function makeClone(): Promise<string> {
  const clone = path.join(folder, 'clone');
  const listed = await done('git', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard');
  for (const file of listed.split('\0').filter((name) => name !== '' && name !== 'node_modules'))
    cpSync(path.join(ROOT, file), path.join(clone, file));
  await done('git', clone, 'init', '--quiet');
  await done('git', clone, 'add', '--all');
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  await done('git', clone, ...author, 'commit', '--quiet', '--message=all');
  // They are installed by test/scripts/prepare.release.ts.
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(clone, 'node_modules'));
  return clone;
}

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-package-'));
  const clone = await makeClone();
  const toFolder = ['--pack-destination', folder];
  const [answer] = await Promise.all([
    npm(folder, 'pack', '--json', ...toFolder, `git+file://${clone}`),
    npm(folder, 'install', '--global', '--prefix', path.join(folder, 'global'), clone),
  ]);
  [packed] = JSON.parse(answer);
  const user = path.join(folder, 'user');
  mkdirSync(user);
  writeFileSync(path.join(user, 'package.json'), '{ "private": true, "type": "module" }');
  await npm(user, 'install', path.join(folder, packed.filename));
});

after(() => rmSync(folder, { recursive: true, force: true }));

const runHere = (command: string, args: readonly string[], env: NodeJS.ProcessEnv = PLAIN_ENV) =>
  runChild(command, args, { cwd: path.join(folder, 'user'), env, timeoutMs: DEADLINE_MS });

test('the tarball contains the compiled files, the documents and nothing else', () => {
  const compiled = readSources().flatMap(({ path: file }) => {
    const name = `dist/${file.replace(/\.ts$/u, '')}`;
    return [`${name}.js`, `${name}.js.map`, `${name}.d.ts`];
  });
  const configurations = globSync('otel-config/**/*.yaml', { cwd: ROOT });
  const dashboards = globSync('dashboards/{*.json,rules/*.yaml}', { cwd: ROOT });
  assert.equal(dashboards.length, 6);
  const documents = [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dashboards/README.md',
    'package.json',
    'schema/celery.schema.json',
    'schema/service-status.schema.json',
    'schema/status.schema.json',
  ]
    .concat('otel-config/README.md', 'dist/sbom.cdx.json', globSync('docs/*.md', { cwd: ROOT }))
    .concat(configurations, dashboards, globSync('page/*.{css,html,js,svg}', { cwd: ROOT }));
  assert.deepEqual(packed.files.map((file) => file.path).sort(), [...compiled, ...documents].sort());
});

test('the SBOM lists all shipped packages, with the versions and hashes of the lock file', () => {
  const file = path.join(folder, 'user/node_modules/celery-otel/dist/sbom.cdx.json');
  const { metadata, components, dependencies }: Bill = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal(metadata.component.name, 'celery-otel');
  assert.equal(metadata.component.version, VERSION);
  const listed = components.map(({ name, version, hashes }) => {
    const [hash = ''] = hashes.map(({ content }) => Buffer.from(content, 'hex').toString('base64'));
    return `${name} ${version} sha512-${hash}`;
  });
  const shipped = Object.entries<LockRow>(lock.packages).flatMap(([place, { dev, version, integrity }]) =>
    place === '' || dev === true
      ? []
      : [`${place.replace(/^.*node_modules\//u, '')} ${version} ${integrity}`],
  );
  assert.deepEqual(listed.sort(), [...new Set(shipped)].sort());
  const own = dependencies.find(({ ref }) => ref === `celery-otel@${VERSION}`);
  const direct = Object.entries(manifest.dependencies).map(([name, version]) => `${name}@${version}`);
  assert.deepEqual(own?.dependsOn.toSorted(), direct.sort());
});

test('every source map is next to its file and contains the source', () => {
  const installed = (file: string) =>
    readFileSync(path.join(folder, 'user/node_modules/celery-otel', file), 'utf8');
  const compiled = packed.files
    .map((file) => file.path)
    .filter((file) => file.startsWith('dist/') && file.endsWith('.js'));
  assert.notEqual(compiled.length, 0);
  for (const file of compiled) {
    const [, name] = /\n\/\/# sourceMappingURL=(\S+)\s*$/u.exec(installed(file)) ?? [];
    assert.equal(name, `${path.basename(file)}.map`);
    const { sources, sourcesContent } = JSON.parse(installed(`${file}.map`));
    assert.equal(sourcesContent.length, sources.length);
    assert.ok(sourcesContent.every(Boolean), `${file}.map points to sources that are not there`);
  }
});

test('the command prints its version', async () => {
  const { code, stdout, stderr } = await runHere('npx', ['--no-install', 'celery-otel', '--version']);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: `${VERSION}\n` }, stderr);
});

test('the command of a globally installed clone runs, also after another build', async () => {
  const version = () => runHere(path.join(folder, 'global/bin/celery-otel'), ['--version']);
  assert.deepEqual(await version(), { code: 0, stdout: `${VERSION}\n`, stderr: '' });
  await done(process.execPath, path.join(folder, 'clone'), 'scripts/build.mjs');
  assert.deepEqual(await version(), { code: 0, stdout: `${VERSION}\n`, stderr: '' });
});

test('the command prints its help', async () => {
  const { code, stdout, stderr } = await runHere('npx', ['--no-install', 'celery-otel', '--help']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /celery-otel/);
  assert.match(stdout, /\brun\b[\s\S]*\brecord\b/u);
});

test('importing the library has no effect: no output, and the process ends by itself', async () => {
  const ended = await runHere(
    process.execPath,
    ['--input-type=module', '--eval', `import 'celery-otel';`],
    {},
  );
  assert.deepEqual(ended, { code: 0, stdout: '', stderr: '' });
});

test('the library exports the promised names, and importing it starts nothing', async () => {
  const ended = await runHere(
    process.execPath,
    ['--input-type=module', '--eval', IMPORTING, 'celery-otel'],
    {},
  );
  assert.equal(ended.stderr, '');
  const imported: Imported = JSON.parse(ended.stdout);
  assert.deepEqual(imported, { names: PUBLIC_VALUES.toSorted(), handles: [], timers: [] });
});

test('a strict TypeScript program compiles against the declarations', async () => {
  const names = [...PUBLIC_VALUES, ...PUBLIC_TYPES.map((name) => `type ${name}`)];
  const program = `import { ${names.join(', ')} } from 'celery-otel';\nexport { ${names.join(', ')} };\n`;
  writeFileSync(path.join(folder, 'user/program.ts'), program);
  const compilerOptions = {
    ...{ strict: true, skipLibCheck: false, noEmit: true, target: 'es2023', module: 'nodenext' },
    ...{ types: ['node'], typeRoots: [path.join(ROOT, 'node_modules/@types')] },
  };
  writeFileSync(
    path.join(folder, 'user/tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['program.ts'] }),
  );
  const ended = await runHere(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc')]);
  assert.deepEqual(ended, { code: 0, stdout: '', stderr: '' });
});
