/**
 * The paths of the pages: finds the page for a path, and the path of a page. Pure: it does not know whether a service,
 * row or run exists.
 */

export type RowKind = 'task' | 'queue' | 'worker';

export type Place =
  | { readonly page: 'overview' | 'problems' | 'bridge' }
  | { readonly page: 'service'; readonly service: string }
  | { readonly page: RowKind; readonly service: string; readonly name: string }
  | { readonly page: 'run'; readonly id: string };

const PATHS = { overview: '/', problems: '/problems', bridge: '/bridge' } as const;
const SERVICE = /^\/services\/([^/]+)(?:\/(tasks|queues|workers)\/([^/]+))?$/u;
const RUN = /^\/runs\/([^/]+)$/u;
const KINDS = { tasks: 'task', queues: 'queue', workers: 'worker' } as const;
/** Paths of JSON documents, which are not pages. */
const DOCUMENT = /^\d{1,4}\.json$/u;
const DETAILS = /^\/services\/(\d{1,4})\.json$/u;

/** @returns undefined if no page has this path */
export function placeOf(path: string): Place | undefined {
  for (const page of ['overview', 'problems', 'bridge'] as const) if (path === PATHS[page]) return { page };
  const [, ofRun] = RUN.exec(path) ?? [];
  if (ofRun !== undefined) {
    const id = decoded(ofRun);
    return id === undefined ? undefined : { page: 'run', id };
  }
  const [, ofService, folder, ofRow] = SERVICE.exec(path) ?? [];
  if (ofService === undefined || (folder === undefined && DOCUMENT.test(ofService))) return undefined;
  const service = decoded(ofService);
  const name = decoded(ofRow ?? '');
  if (service === undefined || name === undefined) return undefined;
  if (folder === undefined) return { page: 'service', service };
  return folder === 'tasks' || folder === 'queues' || folder === 'workers'
    ? { page: KINDS[folder], service, name }
    : undefined;
}

export function pathOf(place: Place): string {
  switch (place.page) {
    case 'service':
      return `/services/${encoded(place.service)}`;
    case 'task':
    case 'queue':
    case 'worker':
      return `/services/${encoded(place.service)}/${place.page}s/${encoded(place.name)}`;
    case 'run':
      return `/runs/${encoded(place.id)}`;
    default:
      return PATHS[place.page];
  }
}

/**
 * The path of the document about one row, or about one run id.
 * @param details the path of the document of the service
 * @returns '' if the page needs no further document
 */
export function documentPathOf(place: Place, details: string): string {
  switch (place.page) {
    case 'task':
    case 'queue':
    case 'worker': {
      const [, index] = DETAILS.exec(details) ?? [];
      return index === undefined ? '' : `/details/${index}/${place.page}s/${encoded(place.name)}`;
    }
    case 'run':
      return `/details/find/${encoded(place.id)}`;
    default:
      return '';
  }
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** A name with half a surrogate pair still makes a link. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}
