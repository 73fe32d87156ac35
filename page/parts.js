/** Draws the parts that the pages have in common, as of the last document. It asks for nothing. */
import { byId, element, setText } from './elements.js';
import { duration, GRADES, moment, pathOf, SIGNS } from './view.js';

/** @import { StatusDocument, StatusGrade, StatusProblem } from '../src/health/status-document.ts' */
/** @import { Fact, Place } from './view.js' */
/** @typedef {{ readonly text: string, readonly place: Place }} Link */

const WORD = /[\w@.-]/u;
const WORD_AFTER = /[\w@-]/u;

/** @param {StatusGrade} grade */
function wordOf(grade) {
  const [word] = GRADES[grade];
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** @param {Link} link */
function linkTo({ text, place }) {
  return element('a', { href: pathOf(place) }, text);
}

/**
 * @param {StatusGrade} grade
 * @param {string} word
 * @param {string} note
 */
export function showVerdict(grade, word, note) {
  const verdict = byId('verdict');
  verdict.className = `verdict g ${grade}`;
  if (verdict.textContent !== `${word} ${note}`.trim())
    verdict.replaceChildren(word, ...(note === '' ? [] : [' ', element('span', {}, note)]));
}

/**
 * @param {StatusDocument} status
 * @param {Place | undefined} place
 */
export function showHeader({ grade, services, problems, process }, place) {
  const alike = services.filter((each) => each.grade === grade).length;
  showVerdict(
    grade,
    wordOf(grade),
    services.length < 2 || alike === 0 ? '' : `${alike} of ${services.length} services`,
  );
  for (const link of document.querySelectorAll('header nav a')) {
    const isHere = place !== undefined && link.getAttribute('href') === pathOf(place);
    if (isHere) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
    if (link.getAttribute('href') === '/problems')
      setText(link, problems.length === 0 ? 'Problems' : `Problems ${problems.length}`);
  }
  setText(byId('process'), `celery-otel ${process.version}, up for ${duration(process.uptime_s)}`);
}

/**
 * @param {{ readonly title: string, readonly grade?: StatusGrade, readonly subtitle?: string, readonly crumbs?: readonly Link[] }} options
 *   the grade is that of what the page is about
 */
export function showTitle({ title, grade, subtitle = '', crumbs = [] }) {
  const heading = byId('title');
  heading.className = grade === undefined ? '' : `g ${grade}`;
  setText(heading, title);
  setText(byId('subtitle'), subtitle);
  const sign = grade === undefined ? '' : `${SIGNS[GRADES[grade][1]]} `;
  document.title = title === 'celery-otel' ? title : `${sign}${title} · celery-otel`;
  byId('crumbs').hidden = crumbs.length === 0;
  redraw(byId('crumbs').querySelector('ol'), crumbs, (crumb) => element('li', {}, linkTo(crumb)));
}

/** @param {string} text empty if there is nothing to note */
export function showNotice(text) {
  byId('notice').hidden = text === '';
  setText(byId('notice'), text);
}

/**
 * @param {readonly StatusProblem[]} problems
 * @param {readonly string[]} services all there are; problems of another one are those of the bridge
 */
export function showProblems(problems, services) {
  byId('problems').hidden = problems.length === 0;
  redraw(byId('problems').querySelector('ol'), problems, (problem) => problemItem(problem, services));
}

/**
 * @param {StatusProblem} problem
 * @param {readonly string[]} services
 */
function problemItem(problem, services) {
  const { grade, since, remedy, runbook, service_count } = problem;
  const links = problem.services.flatMap((service) => [
    linkTo({
      text: service,
      place: services.includes(service) ? { page: 'service', service } : { page: 'bridge' },
    }),
    ', ',
  ]);
  const more = service_count - problem.services.length;
  const line = lineParts(problem);
  const about =
    service_count === 1
      ? [element('h3', {}, ...links.slice(0, -1), ': ', ...line)]
      : [
          element('h3', {}, ...line),
          element(
            'p',
            {},
            `${service_count} services: `,
            ...links.slice(0, -1),
            more > 0 ? ` and ${more} more` : '',
          ),
        ];
  const advice = element('p', {}, element('strong', {}, 'What to do: '), remedy === '' ? 'see' : remedy, ' ');
  advice.append(element('code', {}, runbook));
  return element(
    'li',
    { class: 'entry problem words' },
    element('span', { class: `g ${grade}` }, wordOf(grade)),
    element('div', {}, ...about, advice),
    element('p', { class: 'since' }, 'since ', element('time', { datetime: since }, timeOf(since))),
  );
}

/**
 * The line with its names as links.
 * @param {StatusProblem} problem
 * @returns {(Node | string)[]}
 */
function lineParts({ line, names, services: [service = ''] }) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let from = 0;
  const places = names
    .map(({ kind, name }) => ({ kind, name, at: placeIn(line, name) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at);
  for (const { kind, name, at } of places) {
    if (at < from) continue;
    parts.push(line.slice(from, at), linkTo({ text: name, place: { page: kind, service, name } }));
    from = at + name.length;
  }
  return [...parts, line.slice(from)];
}

/**
 * Where a name begins in a text, as a word of its own.
 * @param {string} text
 * @param {string} name
 */
function placeIn(text, name) {
  for (let at = text.indexOf(name); name !== '' && at >= 0; at = text.indexOf(name, at + 1))
    if (!WORD.test(text.charAt(at - 1)) && !WORD_AFTER.test(text.charAt(at + name.length))) return at;
  return -1;
}

/** @param {string} iso */
export function timeOf(iso) {
  return moment(iso, new Date());
}

/**
 * @param {'facts' | 'totals'} id
 * @param {readonly Pick<Fact, 'label' | 'text' | 'tone'>[]} facts
 */
export function showFacts(id, facts) {
  byId(id).hidden = facts.length === 0;
  const list = byId(id).querySelector('dl');
  while (list !== null && list.children.length > facts.length) list.lastElementChild?.remove();
  for (const [index, { label, text, tone }] of facts.entries()) {
    const item = list?.children[index] ?? element('div', { class: 'fact' }, element('dt'), element('dd'));
    if (!item.isConnected) list?.append(item);
    const [term, value] = item.children;
    if (term !== undefined) setText(term, label);
    if (value === undefined) continue;
    setText(value, text);
    value.className = text.length > LONG ? `${tone} long` : tone;
  }
}

/** What is shown smaller. */
const LONG = 16;

/** @param {readonly (Link & { readonly note: string })[] | undefined} hits undefined if nothing was looked for */
export function showFound(hits) {
  byId('found').hidden = hits === undefined || hits.length === 0;
  redraw(byId('found').querySelector('ul'), hits ?? [], (hit) =>
    element('li', { class: 'entry hit words' }, linkTo(hit), ' ', element('small', {}, hit.note)),
  );
}

/** @type {WeakMap<Element, string>} */
const drawn = new WeakMap();

/**
 * Makes the children anew only if something is different.
 * @template Item
 * @param {Element | null} parent
 * @param {readonly Item[]} items
 * @param {(item: Item) => Node} make
 */
export function redraw(parent, items, make) {
  const now = JSON.stringify(items);
  if (parent === null || drawn.get(parent) === now) return;
  drawn.set(parent, now);
  parent.replaceChildren(...items.map(make));
}
