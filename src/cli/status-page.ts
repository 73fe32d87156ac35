/**
 * The table of the files of the status pages, by path. They are static, and read once; all pages share one HTML
 * document.
 */
import type { PageFile } from '../health/status-server.ts';
import { placeOf } from '../view/address.ts';
import { packageFile } from './package-file.ts';

const HTML = 'text/html';
const CSS = 'text/css';
const SCRIPT = 'text/javascript';
const SVG = 'image/svg+xml';

/** Path → the file in `page/`, and its media type. */
const FILES: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/': ['index.html', HTML],
  '/page.css': ['page.css', CSS],
  '/page.js': ['page.js', SCRIPT],
  '/elements.js': ['elements.js', SCRIPT],
  '/view.js': ['view.js', SCRIPT],
  '/table.js': ['table.js', SCRIPT],
  '/plot.js': ['plot.js', SCRIPT],
  '/row-page.js': ['row-page.js', SCRIPT],
  '/failures.js': ['failures.js', SCRIPT],
  '/tree.js': ['tree.js', SCRIPT],
  '/parts.js': ['parts.js', SCRIPT],
  '/pages.js': ['pages.js', SCRIPT],
  '/search.js': ['search.js', SCRIPT],
  '/favicon.svg': ['favicon.svg', SVG],
};

/** @returns a function that finds the file for a path; undefined if there is none */
export function statusPages(): (path: string) => PageFile | undefined {
  const files = pageFiles();
  const document = files.get('/');
  return (path) => files.get(path) ?? (placeOf(path) === undefined ? undefined : document);
}

export function pageFiles(): ReadonlyMap<string, PageFile> {
  return new Map(
    Object.entries(FILES).map(([path, [name, type]]) => [path, { type, text: packageFile(`page/${name}`) }]),
  );
}
