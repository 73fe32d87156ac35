/** Patterns of the declarative configuration: `?` is any character, `*` any number of them. Pure. */

/** @param ignoreCase for names of instruments, which differ in more than their case */
export function wildcard(pattern: string, { ignoreCase = false } = {}): (text: string) => boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/gu, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const expression = new RegExp(`^${source}$`, ignoreCase ? 'isu' : 'su');
  return (text) => expression.test(text);
}
