/**
 * The oldest supported version of Node; a test compares it with `engines` in `package.json`. Like `main.ts`, this file
 * must run on older versions, too.
 */
export const NODE_MIN = '22.15.0';

/** Whether a version is at least the minimum; both are numbers separated by dots. */
export function isRecentEnough(version: string, min: string = NODE_MIN): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, wanted] of min.split('.').map(Number).entries()) {
    const part = parts[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}
