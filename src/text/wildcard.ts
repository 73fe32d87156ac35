/** Matches the patterns of OpenTelemetry’s declarative configuration: `?` is any character, `*` any number of them. Pure. */

/** @param ignoreCase for instrument names, which are case-insensitive */
export function wildcard(pattern: string, { ignoreCase = false } = {}): (text: string) => boolean {
  const wanted = Array.from(ignoreCase ? pattern.toLowerCase() : pattern);
  return (text) => matches(wanted, Array.from(ignoreCase ? text.toLowerCase() : text));
}

/** Whether the text matches. It backtracks only to the last `*`: a regular expression with several of them could take very long. */
function matches(wanted: readonly string[], text: readonly string[]): boolean {
  let at = 0;
  let star = -1;
  let afterStar = 0;
  for (let read = 0; read < text.length; ) {
    if (wanted[at] === '*') {
      star = at;
      at += 1;
      afterStar = read;
    } else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === text[read])) {
      at += 1;
      read += 1;
    } else if (star >= 0) {
      afterStar += 1;
      read = afterStar;
      at = star + 1;
    } else return false;
  }
  return wanted.slice(at).every((one) => one === '*');
}
