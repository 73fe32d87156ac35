/**
 * Which Node the package needs; a test compares it with `engines` in `package.json`. Together with `main.ts` it must
 * run on a Node that is too old for everything else.
 */
export const NODE_MIN = '22.15.0';

/** Whether a version of Node is the minimum or a later one; both are numbers with dots between them. */
export function isRecentEnough(version: string, min: string = NODE_MIN): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, wanted] of min.split('.').map(Number).entries()) {
    const part = parts[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}
