/** The table of the files of the page, by the path of each. They are static, and read once. */
import type { PageFile } from '../health/status-server.ts';
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
  '/overview.js': ['overview.js', SCRIPT],
  '/favicon.svg': ['favicon.svg', SVG],
};

export function statusPage(): ReadonlyMap<string, PageFile> {
  return new Map(
    Object.entries(FILES).map(([path, [name, type]]) => [path, { type, text: packageFile(`page/${name}`) }]),
  );
}
