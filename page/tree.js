/** The workflow that a run belongs to: a table with a row for each run, indented below what sent it, and a bar of its time. */
import { drawing, element } from './elements.js';
import { duration, lanesOf, number, outcomeText, outcomeTone, pathOf } from './view.js';

/** @import { TreeRow } from '../src/health/details.ts' */
/** @import { Lanes } from './view.js' */

/** Deeper ones are indented as far as this. */
const DEPTH_MAX = 8;
const LANE_HEIGHT = 32;
/** In percent: beyond it, a mark of the axis has no room for its text. */
const MARK_MAX = 92;
const KEYS = /** @type {const} */ ([
  ['wait', 'waited'],
  ['usual', 'ran'],
  ['other', 'ran, then retried'],
  ['failed', 'ran and failed'],
]);
/** @type {ReadonlyMap<string, string>} */
const LOOKS = new Map([
  ['failed', 'failed'],
  ['lost', 'lost'],
  ['retried', 'other'],
]);

/**
 * @param {object} options
 * @param {string} options.service
 * @param {string} options.id the one that was looked for
 * @param {readonly TreeRow[]} options.rows
 * @param {number} options.total how many there are
 * @returns {HTMLElement}
 */
export function treeSection({ service, id, rows, total }) {
  const lanes = lanesOf(rows);
  const failed = rows.filter(({ outcome }) => outcome === 'failed').length;
  const some = rows.length < total ? `${number(rows.length)} of ` : '';
  const note = `${some}${number(total)} run${total === 1 ? '' : 's'} in ${duration(lanes.total_s)}${failed === 0 ? '' : `, ${number(failed)} failed`}`;
  const unfold = element('input', { type: 'checkbox', 'aria-label': 'show all columns of the workflow' });
  const table = element(
    'table',
    { class: 'tree', 'aria-label': 'What it belongs to' },
    element('thead', {}, headOf(lanes)),
    element('tbody', {}, ...rows.map((row, index) => rowOf(service, id, row, lanes, index))),
  );
  return element(
    'section',
    { 'aria-label': 'What it belongs to' },
    element(
      'div',
      { class: 'tools' },
      element('h2', {}, 'What it belongs to'),
      element('p', { class: 'count' }, note),
    ),
    element(
      'div',
      { class: 'folding panel' },
      element(
        'p',
        { class: 'folded' },
        'Columns are folded away. ',
        element('label', {}, unfold, 'show all'),
      ),
      element(
        'div',
        { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'What it belongs to, table' },
        table,
      ),
    ),
    element(
      'ul',
      { class: 'legend' },
      ...KEYS.map(([look, text]) => element('li', { class: `key ${look}` }, text)),
    ),
  );
}

/** @param {Lanes} lanes */
function headOf({ marks }) {
  const axis = drawing('svg', { class: 'lane axis', 'aria-hidden': 'true' });
  for (const { at, text } of marks) {
    const x = `${at.toFixed(2)}%`;
    axis.append(
      drawing('line', { x1: x, x2: x, y1: 15, y2: 20 }),
      drawing('text', { x, y: 11, 'text-anchor': at === 0 ? 'start' : 'middle' }, at > MARK_MAX ? '' : text),
    );
  }
  return element(
    'tr',
    {},
    element('th', { scope: 'col' }, 'Task'),
    element('th', { scope: 'col', class: 'time' }, axis, element('span', { class: 'unseen' }, 'Time')),
    element('th', { scope: 'col', class: 'f1' }, 'Outcome'),
    element('th', { scope: 'col', class: 'number f2' }, 'Waited'),
    element('th', { scope: 'col', class: 'number f1' }, 'Ran'),
    element('th', { scope: 'col', class: 'f3' }, 'Worker'),
  );
}

/**
 * @param {string} service
 * @param {string} id
 * @param {TreeRow} row
 * @param {Lanes} lanes
 * @param {number} index
 */
function rowOf(service, id, row, lanes, index) {
  const { depth, task, worker, outcome, retries } = row;
  const lane = lanes.lanes[index];
  const said = outcomeText(row);
  const tone = outcomeTone(outcome);
  const isHere = row.id === id;
  const name = element(
    'th',
    { scope: 'row' },
    element('span', { class: 'quiet', 'aria-hidden': 'true' }, depth === 0 ? '' : '└ '),
    element(
      'a',
      { href: isHere ? pathOf({ page: 'task', service, name: task }) : pathOf({ page: 'run', id: row.id }) },
      task || row.id,
    ),
    retries === 0 ? '' : element('small', {}, ` retry ${retries}`),
    element('span', { class: `in1 ${tone}` }, said),
  );
  return element(
    'tr',
    { class: `d${Math.min(DEPTH_MAX, Math.max(0, depth))}`, ...(isHere && { 'aria-current': 'true' }) },
    name,
    element('td', { class: 'time' }, laneOf(lanes, index, outcome)),
    element('td', { class: `f1 ${tone}` }, said),
    element('td', { class: 'number f2' }, duration(lane?.wait_s)),
    element('td', { class: 'number f1' }, duration(lane?.runtime_s)),
    element(
      'td',
      { class: 'f3' },
      ...(worker === ''
        ? ['–']
        : [element('a', { href: pathOf({ page: 'worker', service, name: worker }) }, worker)]),
    ),
  );
}

/**
 * @param {Lanes} lanes
 * @param {number} index
 * @param {string} outcome
 */
function laneOf({ lanes, marks }, index, outcome) {
  const svg = drawing('svg', { class: 'lane', 'aria-hidden': 'true' });
  for (const { at } of marks)
    svg.append(drawing('line', { x1: `${at.toFixed(2)}%`, x2: `${at.toFixed(2)}%`, y2: LANE_HEIGHT }));
  const { waited, ran } = lanes[index] ?? {};
  if (waited !== undefined) {
    const [x1, x2] = [waited.from, waited.to].map((at) => `${at.toFixed(2)}%`);
    svg.append(
      drawing('line', { class: 'wait', x1: x1 ?? 0, x2: x2 ?? 0, y1: LANE_HEIGHT / 2, y2: LANE_HEIGHT / 2 }),
    );
  }
  if (ran !== undefined) {
    const width = `${Math.max(0.4, ran.to - ran.from).toFixed(2)}%`;
    const x = `${Math.min(99.6, ran.from).toFixed(2)}%`;
    const look = LOOKS.get(outcome) ?? 'usual';
    svg.append(drawing('rect', { class: `run ${look}`, x, width, y: 10, height: 12, rx: 2 }));
  }
  return svg;
}
