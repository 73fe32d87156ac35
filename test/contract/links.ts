/**
 * The links of a Markdown document to places in this repository, and its inline code. It reads no files: the tree is an
 * argument.
 */
import path from 'node:path';

/** Code blocks, which may look like links, and inline code. */
const CODE = /^(```|~~~)[\s\S]*?^\1|`[^`\n]*`/gmu;
const LINK = /\[(?:[^\]\\]|\\.)*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*<?([^\s>]+)/gmu;
const HEADING = /^#{1,6}\s+(.+?)\s*#*$/gmu;

/** The inline code of a document. */
export function codeSpans(text: string): readonly string[] {
  const lines = text.replaceAll(/^ *(```|~~~)[\s\S]*?^ *\1/gmu, '');
  return [...lines.matchAll(/`([^`\n]+)`/gu)].map(([, span = '']) => span);
}

/** The anchors of a document's headings: `## Where to begin` → `where-to-begin`; a duplicate gets `…-1`. */
function anchors(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [, heading = ''] of text.replaceAll(/^(```|~~~)[\s\S]*?^\1/gmu, '').matchAll(HEADING)) {
    const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '');
    const name = words.trim().replaceAll(/\s/gu, '-');
    let anchor = name;
    for (let count = 1; found.has(anchor); count += 1) anchor = `${name}-${count}`;
    found.add(anchor);
  }
  return found;
}

/**
 * Every dead link of a document, as a sentence.
 *
 * @param document path in the repository
 * @param readText the text of a file of the repository, '' of a folder, undefined of what is not there
 */
export function findDeadLinks(
  document: string,
  readText: (file: string) => string | undefined,
): readonly string[] {
  const text = readText(document) ?? '';
  return [...text.replaceAll(CODE, '').matchAll(LINK)].flatMap(([, inline, reference]) => {
    const link = inline ?? reference ?? '';
    if (/^[a-z][a-z\d+.-]*:/i.test(link)) return [];
    const [file = '', anchor] = decodeURIComponent(link).split('#');
    const target = file === '' ? document : path.posix.join(path.posix.dirname(document), file);
    const found = readText(target);
    if (found === undefined) return [`${document} links to ${link}, which is not there.`];
    if (anchor === undefined || anchors(found).has(anchor)) return [];
    return [`${document} links to ${link}, but ${target} has no such heading.`];
  });
}
