/**
 * `npm run build`: compiles `src/` to an empty `dist/`, so that no file of an older build is shipped, and writes a software
 * bill of materials (SBOM) there: the shipped packages with their locked versions. Plain JavaScript, since `npm install`
 * from a clone or from git runs it on the user’s Node.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import manifest from '../package.json' with { type: 'json' };

const ROOT = path.resolve(import.meta.dirname, '..');
const DIST = path.join(ROOT, 'dist');
/** npm’s name for this package in the SBOM. */
const ROOT_REF = `${manifest.name}@${manifest.version}`;
/** Direct dependencies have exact versions. */
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
  // After a global installation of a clone, the command is a link to this file.
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
 * In CycloneDX format; reproducible: it depends on the lock file only.
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
  // --omit=dev would also omit shipped packages that development tools need too.
  const components = all.components.filter(
    ({ properties }) => !properties.some(({ name }) => name === 'cdx:npm:package:development'),
  );
  const left = new Set(components.map((component) => component['bom-ref']));
  const dependencies = all.dependencies
    .filter(({ ref }) => ref === ROOT_REF || left.has(ref))
    .map(({ ref, dependsOn }) => {
      // Our own development dependencies are not shipped because of us, even if another package needs them.
      const own = dependsOn.filter((other) => (ref === ROOT_REF ? DIRECT.has(other) : left.has(other)));
      return { ref, dependsOn: own };
    });
  // npm uses the name of the folder.
  const component = { ...metadata.component, name: manifest.name };
  const shipped = { ...bill, metadata: { ...metadata, component }, components, dependencies };
  return `${JSON.stringify(shipped, null, 2)}\n`;
}
