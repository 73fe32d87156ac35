/** Reads files that are shipped with the program: from the package, or from within the single executable. */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

/** @param path within the package; the build of the single executable has to include it */
export function packageFile(path: string): string {
  return isSea() ? getAsset(path, 'utf8') : readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}
