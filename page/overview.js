/** The verdict, the problems and the facts of a service, as of the last document. It asks for nothing. */
import { byId, element, setText } from './elements.js';
import { duration, factsOf, otherProblems, SIGNS, verdictOf } from './view.js';

/** @import { StatusDocument, StatusService } from '../src/health/status-document.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */

/**
 * @param {keyof typeof SIGNS} state
 * @param {string} text
 */
export function showVerdict(state, text) {
  const verdict = byId('verdict');
  verdict.className = state;
  // It counts seconds: nobody wants to hear it again and again.
  verdict.setAttribute('aria-live', state === 'good' ? 'off' : 'polite');
  setText(verdict, `${SIGNS[state]} ${text}`);
  document.title = `${SIGNS[state]} celery-otel`;
}

/** @param {StatusDocument} status */
export function showStatus(status) {
  const { tone, text } = verdictOf(status);
  showVerdict(tone, text);
  const lines = otherProblems(status);
  byId('problems').hidden = lines.length === 0;
  const list = byId('problems').querySelector('ul');
  if (list !== null && list.dataset['lines'] !== lines.join('\n')) {
    list.dataset['lines'] = lines.join('\n');
    list.replaceChildren(...lines.map((line) => element('li', {}, line)));
  }
  const { version, uptime_s, memory_bytes } = status.process;
  setText(
    byId('process'),
    `${version}, up for ${duration(uptime_s)}${memory_bytes === null ? '' : `, ${Math.round(memory_bytes / 1e6)} MB of memory`}`,
  );
}

/**
 * @param {StatusService} service
 * @param {ServiceDocument | undefined} details
 */
export function showFacts(service, details) {
  setText(byId('service-name'), service.name);
  const facts = factsOf(service, details);
  const list = byId('facts');
  while (list.children.length > facts.length) list.lastElementChild?.remove();
  for (const [index, { label, text }] of facts.entries()) {
    const item = list.children[index] ?? list.appendChild(element('div', {}, element('dt'), element('dd')));
    if (item.firstElementChild !== null) setText(item.firstElementChild, label);
    if (item.lastElementChild !== null) setText(item.lastElementChild, text);
  }
}
