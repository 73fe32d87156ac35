/**
 * A plot of the last hour: bars of counts or lines of quantiles and ages, with an axis of times and one of values. What it shows is
 * in the table below it, too, which is what keyboards and screen readers use. It asks for nothing.
 */
import { drawing, element, setText } from './elements.js';
import { axisValues, clock, knownSpans, tickTimes, valueText } from './view.js';

/** @import { Unit } from './view.js' */

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {'failed' | 'lost' | 'other' | 'usual'} look
 * @property {readonly (number | null)[]} values null is not known; it is a gap, and never 0
 */

/**
 * @typedef {object} Content
 * @property {number} sinceMs when the first step began
 * @property {number} stepS
 * @property {number | undefined} [markMs] when the problem of the page began
 * @property {readonly Series[]} series bars are stacked, the first one at the foot; all are as long
 */

const LEFT = 54;
const BOTTOM = 20;
const TOP = 14;
const HEIGHT = 184;
const NARROW = 480;
/** What “now” needs at the end of the axis. */
const NOW_WIDTH = 40;
const MINUTE_S = 60;

export class Plot {
  #isStack;
  #unit;
  #canvas = element('div', { class: 'canvas' });
  #time = element('time');
  #legend = element('ul', { class: 'legend' });
  #body = element('tbody');
  #head = element('thead');
  #details = element('details');
  #cross = drawing('line', { class: 'cross', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden' });
  /** @type {Content | undefined} */
  #content;
  /**
   * The step under the pointer.
   * @type {number | undefined}
   */
  #pointed;

  /** @param {{ readonly title: string, readonly kind: 'bars' | 'lines', readonly unit: Unit }} options */
  constructor({ title, kind, unit }) {
    this.#isStack = kind === 'bars';
    this.#unit = unit;
    const scroll = element(
      'div',
      { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': `${title}, table` },
      element('table', { 'aria-label': title }, this.#head, this.#body),
    );
    this.#details.append(element('summary', {}, 'As a table'), scroll);
    this.#details.addEventListener('toggle', () => this.#tabulate());
    this.element = element(
      'figure',
      { class: 'plot panel', 'aria-label': title },
      element('figcaption', {}, element('h2', {}, title), this.#legend),
      this.#canvas,
      this.#details,
    );
    this.element.hidden = true;
    this.#canvas.addEventListener('pointermove', (event) => this.#point(event));
    this.#canvas.addEventListener('pointerleave', () => this.#point(undefined));
    new ResizeObserver(() => this.#draw()).observe(this.#canvas);
  }

  /** @param {Content | undefined} content undefined if there is nothing to show */
  update(content) {
    this.#content = content;
    this.element.hidden = content === undefined;
    if (content === undefined) this.#canvas.replaceChildren();
    this.#draw();
    this.#say();
    this.#tabulate();
  }

  get #steps() {
    return this.#content?.series[0]?.values.length ?? 0;
  }

  /** @param {number} at */
  #timeOf(at) {
    const { sinceMs = 0, stepS = MINUTE_S } = this.#content ?? {};
    const text = clock(new Date(sinceMs + at * stepS * 1000));
    return stepS < MINUTE_S ? text : text.slice(0, 5);
  }

  /** @param {number} at */
  #x(at) {
    return LEFT + ((this.#canvas.clientWidth - LEFT) * at) / Math.max(1, this.#steps);
  }

  #draw() {
    const content = this.#content;
    const width = this.#canvas.clientWidth;
    if (content === undefined || width < 2 * LEFT) return;
    const axis = axisValues(this.#most(content), this.#unit);
    const top = axis.at(-1) ?? 1;
    /** @param {number} value */
    const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / top;
    const svg = drawing('svg', {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      ...{ width, height: HEIGHT, 'aria-hidden': 'true' },
    });
    for (const value of axis) {
      const line = { x1: LEFT, x2: width, y1: y(value), y2: y(value), class: value === 0 ? 'base' : 'grid' };
      const name = { x: LEFT - 8, y: y(value) + 4, 'text-anchor': 'end' };
      svg.append(drawing('line', line), drawing('text', name, valueText(value, this.#unit)));
    }
    this.#drawTimes(svg, content, width);
    if (this.#isStack) this.#drawBars(svg, content, y);
    else this.#drawLines(svg, content, y);
    this.#drawMark(svg, content, width);
    svg.append(this.#cross);
    this.#canvas.replaceChildren(svg);
    this.#showCross();
  }

  /** @param {Content} content */
  #most({ series }) {
    let most = 0;
    for (let at = 0; at < this.#steps; at += 1) {
      const values = series.map(({ values: all }) => all[at] ?? 0);
      most = Math.max(
        most,
        this.#isStack ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values),
      );
    }
    return most;
  }

  /**
   * @param {SVGSVGElement} svg
   * @param {Content} content
   * @param {number} width
   */
  #drawTimes(svg, { sinceMs, stepS }, width) {
    const untilMs = sinceMs + this.#steps * stepS * 1000;
    for (const tick of tickTimes(sinceMs, untilMs, width < NARROW ? 20 : 10)) {
      const x = this.#x((tick - sinceMs) / 1000 / stepS);
      if (x > width - NOW_WIDTH - 16 || x < LEFT + 8) continue;
      svg.append(
        drawing('line', { x1: x, x2: x, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4, class: 'base' }),
        drawing('text', { x, y: HEIGHT - 3, 'text-anchor': 'middle' }, clock(new Date(tick)).slice(0, 5)),
      );
    }
    svg.append(drawing('text', { x: width, y: HEIGHT - 3, 'text-anchor': 'end' }, 'now'));
  }

  /**
   * @param {SVGSVGElement} svg
   * @param {Content} content
   * @param {(value: number) => number} y
   */
  #drawBars(svg, { series }, y) {
    /** @type {number[]} */
    const floors = Array.from({ length: this.#steps }, () => 0);
    const gap = this.#x(1) - this.#x(0) > 4 ? 0.5 : 0;
    for (const { look, values } of series) {
      let d = '';
      for (const [at, value] of values.entries()) {
        const floor = floors[at] ?? 0;
        if (value === null || value === 0) continue;
        const [left, right] = [this.#x(at) + gap, this.#x(at + 1) - gap].map((x) => x.toFixed(1));
        d += `M${left} ${y(floor).toFixed(1)}V${y(floor + value).toFixed(1)}H${right}V${y(floor).toFixed(1)}Z`;
        floors[at] = floor + value;
      }
      svg.append(drawing('path', { d, class: `bar ${look}` }));
    }
  }

  /**
   * @param {SVGSVGElement} svg
   * @param {Content} content
   * @param {(value: number) => number} y
   */
  #drawLines(svg, { series }, y) {
    for (const { look, name, values } of series) {
      const spans = knownSpans(values).map((span) =>
        span.map(({ at, value }) => `${this.#x(at + 0.5).toFixed(1)} ${y(value).toFixed(1)}`),
      );
      // A value alone is a dot.
      const d = spans.map((points) => `M${points.join('L')}${points.length === 1 ? 'h0' : ''}`).join('');
      svg.append(drawing('path', { d, class: `curve ${look}` }));
      const end = knownSpans(values).at(-1)?.at(-1);
      if (series.length < 2 || end === undefined) continue;
      const x = Math.max(LEFT + NOW_WIDTH, this.#x(end.at + 0.5));
      svg.append(drawing('text', { x, y: y(end.value) - 7, 'text-anchor': 'end', class: 'name' }, name));
    }
  }

  /**
   * @param {SVGSVGElement} svg
   * @param {Content} content
   * @param {number} width
   */
  #drawMark(svg, { markMs, sinceMs, stepS }, width) {
    const at = markMs === undefined ? -1 : (markMs - sinceMs) / 1000 / stepS;
    if (markMs === undefined || at < 0 || at > this.#steps) return;
    const x = this.#x(at);
    const isLeft = x < width / 2;
    svg.append(
      drawing('line', { x1: x, x2: x, y1: 0, y2: HEIGHT - BOTTOM, class: 'mark' }),
      drawing(
        'text',
        { x: isLeft ? x + 5 : x - 5, y: 9, 'text-anchor': isLeft ? 'start' : 'end', class: 'mark-text' },
        `since ${clock(new Date(markMs)).slice(0, 5)}`,
      ),
    );
  }

  /** The last one, or the one under the pointer. */
  get #shownStep() {
    if (this.#pointed !== undefined) return this.#pointed;
    const { series = [] } = this.#content ?? {};
    // A count of a step that is not over would look like a fall.
    if (this.#isStack) return Math.max(0, this.#steps - 2);
    return Math.max(0, ...series.map(({ values }) => values.findLastIndex((value) => value !== null)));
  }

  #say() {
    const at = this.#shownStep;
    const isNow = this.#pointed === undefined && !this.#isStack && at === this.#steps - 1;
    setText(this.#time, isNow ? 'now' : `at ${this.#timeOf(at)}`);
    // From the top of a stack to its foot.
    const shown = (this.#content?.series ?? []).toReversed();
    const items = [...this.#legend.children].slice(1);
    if (items.length !== shown.length)
      this.#legend.replaceChildren(
        element('li', {}, this.#time),
        ...shown.map(() => element('li', {}, '', element('b'))),
      );
    for (const [index, { name, look, values }] of shown.entries()) {
      const item = this.#legend.children[index + 1];
      const [label, value] = item?.childNodes ?? [];
      if (item === undefined || label === undefined || value === undefined) continue;
      item.className = `key ${this.#isStack ? '' : 'line'} ${look}`;
      setText(label, `${name} `);
      setText(value, valueText(values[at], this.#unit));
    }
  }

  /** @param {PointerEvent | undefined} event */
  #point(event) {
    const { left, width } = this.#canvas.getBoundingClientRect();
    const at =
      event === undefined ? -1 : Math.floor(((event.clientX - left - LEFT) / (width - LEFT)) * this.#steps);
    this.#pointed = at < 0 || at >= this.#steps ? undefined : at;
    this.#showCross();
    this.#say();
  }

  #showCross() {
    const at = this.#pointed;
    this.#cross.setAttribute('visibility', at === undefined ? 'hidden' : 'visible');
    for (const end of ['x1', 'x2']) this.#cross.setAttribute(end, String(this.#x((at ?? 0) + 0.5)));
  }

  /** The newest step first. It is made only for those who look at it. */
  #tabulate() {
    if (!this.#details.open || this.#content === undefined) return;
    const { series } = this.#content;
    const names = [this.#content.stepS < MINUTE_S ? 'Time' : 'Minute', ...series.map(({ name }) => name)];
    this.#head.replaceChildren(element('tr', {}, ...names.map((name, index) => heading(name, index > 0))));
    const rows = Array.from({ length: this.#steps }, (_, index) => this.#steps - 1 - index);
    this.#body.replaceChildren(
      ...rows.map((at) =>
        element(
          'tr',
          {},
          element('th', { scope: 'row' }, this.#timeOf(at)),
          ...series.map(({ values }) =>
            element('td', { class: 'number' }, valueText(values[at], this.#unit)),
          ),
        ),
      ),
    );
  }
}

/**
 * @param {string} name
 * @param {boolean} isNumber
 */
function heading(name, isNumber) {
  return element('th', { scope: 'col', class: isNumber ? 'number' : '' }, name);
}
