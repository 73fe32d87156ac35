/** Looks for a name in all services, and for a task id. It asks for one document at a time, and keeps none. */
import { documentPathOf } from './view.js';

/** @import { FoundDocument } from '../src/health/details.ts' */
/** @import { StatusService } from '../src/health/status-document.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */
/** @import { Place } from './view.js' */
/** @typedef {{ readonly text: string, readonly note: string, readonly place: Place }} Hit */

const HITS_MAX = 100;
const KINDS = /** @type {const} */ ([
  ['tasks', 'task'],
  ['queues', 'queue'],
  ['workers', 'worker'],
]);

/**
 * @param {string} text a part of a name, in any case
 * @param {readonly Pick<StatusService, 'name' | 'details'>[]} services
 * @returns {Promise<readonly Hit[]>} those with exactly this name first; services before what they have
 */
export async function find(text, services) {
  const wanted = text.trim().toLowerCase();
  /** @type {Hit[]} */
  const hits = services
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .map(({ name }) => ({ text: name, note: 'service', place: { page: 'service', service: name } }));
  for (const { name: service, details } of services) {
    /** @type {ServiceDocument | undefined} */
    const document = await documentAt(details);
    for (const [list, page] of KINDS)
      for (const { name } of document?.[list].rows ?? [])
        if (name.toLowerCase().includes(wanted))
          hits.push({ text: name, note: `${page} of ${service}`, place: { page, service, name } });
  }
  return hits.toSorted((one, other) => exactness(other, wanted) - exactness(one, wanted)).slice(0, HITS_MAX);
}

/**
 * @param {readonly Hit[]} hits
 * @param {string} text
 * @returns {Hit | undefined} the only one, or the only one with exactly this name
 */
export function onlyHit(hits, text) {
  const exact = hits.filter((hit) => exactness(hit, text.trim().toLowerCase()) === 1);
  return hits.length === 1 ? hits[0] : exact.length === 1 ? exact[0] : undefined;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu;
/** A request is not larger. */
const ID_MAX = 1000;

/** @param {string} text */
export function isUuid(text) {
  return UUID.test(text);
}

/**
 * @param {string} id
 * @returns {Promise<boolean>} whether a run of this id is known
 */
export async function isKnownId(id) {
  if (id.length > ID_MAX) return false;
  /** @type {FoundDocument | undefined} */
  const document = await documentAt(documentPathOf({ page: 'run', id }, ''));
  return document !== undefined && document.found.length > 0;
}

/**
 * @param {Hit} hit
 * @param {string} wanted
 */
function exactness({ text }, wanted) {
  return text.toLowerCase() === wanted ? 1 : 0;
}

/**
 * @template Document
 * @param {string} path
 * @returns {Promise<Document | undefined>} undefined if it is not available
 */
async function documentAt(path) {
  try {
    const response = await fetch(path);
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}
