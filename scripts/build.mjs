/**
 * `npm run build`: compiles `src/` to `dist/`, from nothing, so that no file of an older build is left in the package, and
 * puts a bill of materials there: the packages that ours brings along, with the versions of the lock file. Plain
 * JavaScript, since `npm install` from a clone or from git runs it on whatever Node its user has.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import manifest from '../package.json' with { type: 'json' };

const ROOT = path.resolve(import.meta.dirname, '..');
const DIST = path.join(ROOT, 'dist');
/** What npm calls this package in it. */
const ROOT_REF = `${manifest.name}@${manifest.version}`;
/** They are pinned. */
const DIRECT = new Set(Object.entries(manifest.dependencies).map(([name, version]) => `${name}@${version}`));

rmSync(DIST, { recursive: true, force: true });
const { status, error } = spawnSync(
  path.join(ROOT, 'node_modules/.bin/tsc'),
  ['--project', 'tsconfig.build.json'],
  {
    cwd: ROOT,
    stdio: 'inherit',
  },
);
if (error !== undefined) throw error;
if (status === 0) {
  // Where a clone is installed globally, the command is a link to this very file.
  chmodSync(path.join(DIST, 'cli/main.js'), 0o755);
  writeFileSync(path.join(DIST, 'sbom.cdx.json'), billOfMaterials());
}
process.exitCode = status ?? 1;

/**
 * @typedef {{ name: string }} Property
 * @typedef {object} Bill
 * @property {string} serialNumber
 * @property {{ timestamp: string, component: object }} metadata
 * @property {{ 'bom-ref': string, properties: Property[] }[]} components
 * @property {{ ref: string, dependsOn: string[] }[]} dependencies
 */

/**
 * In the format of CycloneDX; the same for the same lock file, wherever and whenever it is made.
 * @returns {string}
 */
function billOfMaterials() {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
  const made = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  if (made.status !== 0) throw made.error ?? new Error(`npm ${args.join(' ')}\n${made.stderr}`);
  /** @type {Bill} */
  const all = JSON.parse(made.stdout);
  const { serialNumber: _, ...bill } = all;
  const { timestamp: __, ...metadata } = all.metadata;
  // With --omit=dev npm also leaves out what is shipped and a tool needs too.
  const components = all.components.filter(
    ({ properties }) => !properties.some(({ name }) => name === 'cdx:npm:package:development'),
  );
  const left = new Set(components.map((component) => component['bom-ref']));
  const dependencies = all.dependencies
    .filter(({ ref }) => ref === ROOT_REF || left.has(ref))
    .map(({ ref, dependsOn }) => {
      // Of a tool of ours that another package brings along, too, we are not the reason.
      const own = dependsOn.filter((other) => (ref === ROOT_REF ? DIRECT.has(other) : left.has(other)));
      return { ref, dependsOn: own };
    });
  // npm calls it by the name of the folder.
  const component = { ...metadata.component, name: manifest.name };
  const shipped = { ...bill, metadata: { ...metadata, component }, components, dependencies };
  return `${JSON.stringify(shipped, null, 2)}\n`;
}
