/** Compares the versions of Celery that workers report (`sw_ver`). Pure. */

/** The major and the minor number of a version of Celery. */
export type Release = readonly [number, number];

/** From this release on, which requires kombu 5.7, a worker that cannot encode a reply loses only that reply. */
export const FAILED_REPLY_HARMLESS_FROM: Release = [5, 7];

/** Whether the version is that release or a later one; undefined if it cannot be read. */
export function isAtLeast(version: string, [major, minor]: Release): boolean | undefined {
  const [, ofMajor, ofMinor] = /^(\d{1,4})\.(\d{1,4})(?!\d)/u.exec(version) ?? [];
  if (ofMajor === undefined || ofMinor === undefined) return undefined;
  return Number(ofMajor) > major || (Number(ofMajor) === major && Number(ofMinor) >= minor);
}
