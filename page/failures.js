/**
 * The last failures, each with its stack trace, of which the frame that raised is marked and those of libraries are quiet. What a reader
 * has unfolded stays so. It asks for nothing.
 */
import { element } from './elements.js';
import { duration, moment, pathOf, raisedAt, traceParts } from './view.js';

/** @import { FailureRow } from '../src/health/details.ts' */

const LOOKS = /** @type {const} */ ({ plain: 'span', library: 'span', raised: 'mark', error: 'strong' });

export class Failures {
  #title = element('h2');
  #list = element('div', { class: 'failures panel' });
  /** @type {Map<string, HTMLDetailsElement>} */
  #items = new Map();
  #shown = '';

  constructor() {
    const note = 'Secrets are replaced by ***; arguments and results are not kept.';
    this.element = element(
      'section',
      { 'aria-label': 'Failures' },
      element('div', { class: 'tools' }, this.#title, element('p', { class: 'count' }, note)),
      this.#list,
    );
    this.element.hidden = true;
  }

  /**
   * @param {string} title
   * @param {readonly (FailureRow & { readonly service: string })[]} failures the newest first
   * @param {Date} now
   */
  update(title, failures, now) {
    this.element.hidden = failures.length === 0;
    this.#title.textContent = title;
    const keys = failures.map(({ id, ended, retries }) => JSON.stringify([id, ended, retries]));
    const shown = keys.join('\n');
    if (shown === this.#shown) return;
    const isFirst = this.#shown === '';
    this.#shown = shown;
    const items = failures.map((failure, index) => {
      const item = this.#items.get(keys[index] ?? '') ?? itemOf(failure, now);
      if (isFirst && index === 0) item.open = true;
      return item;
    });
    this.#items = new Map(items.map((item, index) => [keys[index] ?? '', item]));
    this.#list.replaceChildren(...items);
  }
}

/**
 * @param {FailureRow & { readonly service: string }} failure
 * @param {Date} now
 */
function itemOf(failure, now) {
  const { ended, error_type, outcome, message, runtime_s, stacktrace } = failure;
  const time = ended === null ? '–' : moment(ended, now);
  const at = raisedAt(stacktrace);
  const summary = element(
    'summary',
    {},
    element('span', { class: 'when' }, time),
    element(
      'span',
      {},
      element('strong', {}, error_type || outcome),
      ' ',
      element('span', { class: 'quiet' }, message),
    ),
    element('small', {}, runtime_s === null ? '' : `ran ${duration(runtime_s)}`),
  );
  const trace =
    stacktrace === ''
      ? element('p', { class: 'meta' }, 'Its worker reported no stack trace.')
      : element(
          'pre',
          { class: 'stack', tabindex: '0', role: 'region', 'aria-label': `Stack trace of ${time}` },
          ...traceOf(stacktrace),
        );
  return element(
    'details',
    {},
    summary,
    element(
      'p',
      { class: 'meta words' },
      ...aboutOf(failure),
      at === undefined ? '' : '. Raised at ',
      element('code', {}, at ?? ''),
    ),
    trace,
  );
}

/**
 * @param {FailureRow & { readonly service: string }} failure
 * @returns {(Node | string)[]}
 */
function aboutOf({ service, id, task, worker, queue, retries, outcome }) {
  const parts = [
    ...[
      'Run ',
      linkTo(id, pathOf({ page: 'run', id })),
      ' of ',
      linkTo(task, pathOf({ page: 'task', service, name: task })),
    ],
  ];
  if (worker !== '') parts.push(' on ', linkTo(worker, pathOf({ page: 'worker', service, name: worker })));
  if (queue !== '')
    parts.push(', from the queue ', linkTo(queue, pathOf({ page: 'queue', service, name: queue })));
  parts.push(
    retries === 0 ? ', no retry before' : `, ${retries} ${retries === 1 ? 'retry' : 'retries'} before`,
  );
  if (outcome === 'retried') parts.push('; it is retried');
  return parts;
}

/**
 * @param {string} text
 * @param {string} href
 */
function linkTo(text, href) {
  return element('a', { href }, text);
}

/** @param {string} text */
function traceOf(text) {
  return traceParts(text.trimEnd()).map(({ look, text: lines }) =>
    element(LOOKS[look], { class: look }, `${lines}\n`),
  );
}
