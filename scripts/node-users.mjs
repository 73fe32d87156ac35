/** Which test files reach a module of Node, or a package, through `src/`. Only texts are read; nothing is run. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const IMPORT = /^(?:import|export)\s(?!type\s)[^;]*?\bfrom '(?<name>[^']+)'|\bimport\('(?<later>[^']+)'\)/gmu;

/**
 * @param {string} file by its path from the root
 * @param {string} root
 * @returns {boolean} whether code of `src/` that it imports, at any distance, imports a module of Node or a package, which may use one
 */
export function reachesNode(file, root) {
  const seen = new Set([file]);
  for (const each of seen) {
    const where = path.join(root, each);
    // A text in a test may look like an import.
    if (!existsSync(where)) continue;
    for (const { groups } of readFileSync(where, 'utf8').matchAll(IMPORT)) {
      const name = groups?.['name'] ?? groups?.['later'] ?? '';
      if (name.startsWith('.')) seen.add(path.join(path.dirname(each), name));
      else if (name !== '' && each.startsWith('src/')) return true;
    }
  }
  return false;
}
