/**
 * A table that is sorted by its headings and filtered by a text, and stays quick with thousands of rows: it shows some hundred, and
 * more if asked to. Its rows are reused, so that reading it is not disturbed when it changes. Columns that have no room are folded
 * away, the last ones first. It knows nothing of what it shows.
 */
import { element, setText } from './elements.js';
import { matchingRows, orderBy, orderedRows, pathOf } from './view.js';

/** Shown at first. */
const ROWS_MIN = 100;
const ROWS_MORE = 500;

/**
 * @template Row
 * @typedef {import('./view.js').Column<Row>} Column
 */

/**
 * @template Row
 * @typedef {object} TableOptions
 * @property {string} title
 * @property {string} noun what a row is, in the singular
 * @property {readonly Column<Row>[]} columns the first one names the row
 * @property {number} sortedBy the column
 * @property {(row: Row) => string | undefined} [href] of the page about a row, if its first column has none
 * @property {number} [rowsMin] how many are shown at first
 * @property {() => void} changed called when its order or its filter was changed
 */

/** @template Row */
export class Table {
  #columns;
  #options;
  #head = element('thead');
  #body = element('tbody');
  #table = element('table', {}, this.#head, this.#body);
  #scroll = element('div', { class: 'scroll', role: 'region', tabindex: '0' }, this.#table);
  #folded = element('span');
  #all = element('input', { type: 'checkbox' });
  /**
   * The columns that are not folded away.
   * @type {ReadonlySet<number>}
   */
  #unfolded;
  #width = 0;
  #count = element('p', { class: 'count', role: 'status' });
  #more = element('button', { type: 'button' });
  #filter = element('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
  /** @type {HTMLTableCellElement[]} */
  #headings = [];
  /** @type {readonly Row[]} */
  #rows = [];
  /** @type {readonly Row[]} */
  #shown = [];
  /** @type {string[][]} */
  #texts = [];
  #total = 0;
  #rowsMax;
  #order;

  /** @param {TableOptions<Row>} options */
  constructor(options) {
    this.#options = options;
    this.#columns = options.columns;
    this.#rowsMax = this.#rowsMin;
    this.#unfolded = new Set(options.columns.keys());
    this.#order = orderBy(options.columns, options.sortedBy);
    this.element = this.#build();
    this.#filter.addEventListener('input', () => {
      this.#showFrom(this.#rowsMin);
      options.changed();
    });
    this.#more.addEventListener('click', () => this.#showFrom(this.#rowsMax + ROWS_MORE));
    this.#all.addEventListener('change', () => this.#fold());
    new ResizeObserver(() => {
      if (this.#scroll.clientWidth !== this.#width) this.#fold();
    }).observe(this.#scroll);
  }

  get #rowsMin() {
    return this.#options.rowsMin ?? ROWS_MIN;
  }

  /**
   * @param {readonly Row[]} rows
   * @param {number} [total] of which these are some
   */
  update(rows, total = rows.length) {
    this.#rows = rows;
    this.#total = total;
    this.#render();
  }

  /** For rows that nobody knows yet. */
  clear() {
    this.update([]);
    setText(this.#count, '');
  }

  /** @param {number} rowsMax */
  #showFrom(rowsMax) {
    this.#rowsMax = rowsMax;
    this.#render();
  }

  #build() {
    const { title, noun } = this.#options;
    this.#filter.setAttribute('aria-label', `Filter ${noun}s`);
    this.#filter.placeholder = `Filter ${noun}s`;
    this.#headings = this.#columns.map(({ label, isName }, index) => {
      const button = element('button', { type: 'button' }, label);
      button.addEventListener('click', () => this.#sortBy(index));
      return element('th', { scope: 'col', class: isName ? '' : 'number' }, button);
    });
    this.#head.append(element('tr', {}, ...this.#headings));
    this.#table.setAttribute('aria-label', title);
    this.#scroll.setAttribute('aria-label', `${title}, table`);
    this.#all.setAttribute('aria-label', `show all columns of ${noun}s`);
    this.#more.className = 'more';
    const folded = element(
      'p',
      { class: 'folded' },
      this.#folded,
      element('label', {}, this.#all, 'show all'),
    );
    folded.hidden = true;
    return element(
      'section',
      { 'aria-label': title },
      element('div', { class: 'tools' }, element('h2', {}, title), this.#count, this.#filter),
      element('div', { class: 'panel' }, folded, this.#scroll, this.#more),
    );
  }

  /** @param {number} index */
  #sortBy(index) {
    const { column, isDescending } = this.#order;
    this.#order = index === column ? { column, isDescending: !isDescending } : orderBy(this.#columns, index);
    this.#render();
    this.#fold();
    this.#options.changed();
  }

  /**
   * Takes order and filter from the query of an address.
   * @param {URLSearchParams} query
   */
  restore(query) {
    const { noun, sortedBy } = this.#options;
    const sort = query.get(`${noun}-sort`) ?? '';
    const column = this.#columns.findIndex(({ label }) => keyOf(label) === sort.replace(/^-/u, ''));
    this.#order =
      column < 0 ? orderBy(this.#columns, sortedBy) : { column, isDescending: sort.startsWith('-') };
    this.#filter.value = query.get(`${noun}-q`) ?? '';
    this.#showFrom(this.#rowsMin);
    this.#fold();
  }

  /**
   * Writes them there, unless they are as at first.
   * @param {URLSearchParams} query
   */
  store(query) {
    const { noun, sortedBy } = this.#options;
    const { column, isDescending } = this.#order;
    const first = orderBy(this.#columns, sortedBy);
    const isFirst = column === first.column && isDescending === first.isDescending;
    const sort = `${isDescending ? '-' : ''}${keyOf(this.#columns[column]?.label ?? '')}`;
    const values = { sort: isFirst ? '' : sort, q: this.#filter.value.trim() };
    for (const [key, value] of Object.entries(values)) {
      if (value === '') query.delete(`${noun}-${key}`);
      else query.set(`${noun}-${key}`, value);
    }
  }

  #render() {
    const matching = matchingRows(this.#columns, this.#rows, this.#filter.value);
    this.#shown = orderedRows(this.#columns, matching, this.#order).slice(0, this.#rowsMax);
    for (const [index, heading] of this.#headings.entries()) {
      if (index !== this.#order.column) heading.removeAttribute('aria-sort');
      else heading.setAttribute('aria-sort', this.#order.isDescending ? 'descending' : 'ascending');
    }
    for (const [index, row] of this.#shown.entries()) this.#showRow(index, row);
    while (this.#texts.length > this.#shown.length) {
      this.#texts.pop();
      this.#body.lastElementChild?.remove();
    }
    this.#showCounts(matching.length);
    if (this.#scroll.scrollWidth > this.#scroll.clientWidth && !this.#all.checked) this.#fold();
  }

  /** The name and the column that is sorted by stay; of the others the first ones for which there is room. */
  #fold() {
    const places = [...this.#columns.keys()];
    this.#show(new Set(places));
    const room = this.#scroll.clientWidth;
    this.#width = room;
    const widths = this.#headings.map(({ offsetWidth }) => offsetWidth);
    const kept = new Set([0, this.#order.column]);
    const isTight = this.#table.offsetWidth > room;
    let left = room - [...kept].reduce((sum, place) => sum + (widths[place] ?? 0), 0);
    for (const place of places) {
      if (kept.has(place)) continue;
      left -= widths[place] ?? 0;
      if (isTight && left < 0) break;
      kept.add(place);
    }
    const names = this.#columns.filter((_, place) => !kept.has(place)).map(({ label }) => label);
    if (this.#folded.parentElement !== null) this.#folded.parentElement.hidden = names.length === 0;
    setText(
      this.#folded,
      this.#all.checked ? 'All columns are shown. ' : `Folded away: ${names.join(', ')}. `,
    );
    if (!this.#all.checked) this.#show(kept);
  }

  /** @param {ReadonlySet<number>} places of columns */
  #show(places) {
    this.#unfolded = places;
    for (const line of this.#table.rows)
      for (const [place, cell] of [...line.cells].entries()) cell.hidden = !places.has(place);
  }

  /** @param {number} matching */
  #showCounts(matching) {
    const { noun } = this.#options;
    const shown = this.#shown.length;
    const all = counted(this.#total, noun);
    const some = shown === this.#total ? all : `${shown} of ${all}`;
    setText(this.#count, this.#total === 0 ? `No ${noun}s yet.` : some);
    this.#more.hidden = matching <= shown;
    setText(this.#more, `Show ${counted(Math.min(ROWS_MORE, matching - shown), `more ${noun}`)}`);
  }

  /**
   * @param {number} index
   * @param {Row} row
   */
  #showRow(index, row) {
    const line = this.#body.rows[index] ?? this.#addLine();
    const known = this.#texts[index] ?? [];
    this.#texts[index] = known;
    for (const [place, { text, tone, isName, grade }] of this.#columns.entries()) {
      const cell = line.cells[place];
      const shown = text(row);
      const mark = grade === undefined ? tone(row) : `g ${grade(row)}`;
      const href = this.#hrefOf(place, row);
      const now = `${shown}\n${mark}\n${href ?? ''}`;
      if (cell === undefined || known[place] === now) continue;
      known[place] = now;
      const link = cell.firstElementChild;
      (link ?? cell).textContent = shown;
      if (place > 0) cell.className = isName ? mark : `number ${mark}`;
      if (this.#columns[place]?.place?.(row)?.page === 'run') cell.classList.add('id');
      if (href === undefined) link?.removeAttribute('href');
      else link?.setAttribute('href', href);
    }
  }

  /**
   * @param {number} place of the column
   * @param {Row} row
   */
  #hrefOf(place, row) {
    const about = this.#columns[place]?.place?.(row);
    if (about !== undefined) return pathOf(about);
    return place === 0 ? this.#options.href?.(row) : undefined;
  }

  #addLine() {
    const line = this.#body.insertRow();
    for (const [place, { place: about }] of this.#columns.entries()) {
      const cell = place === 0 ? element('th', { scope: 'row' }) : element('td');
      if (about !== undefined || (place === 0 && this.#options.href !== undefined)) cell.append(element('a'));
      line.append(cell);
    }
    for (const [place, cell] of [...line.cells].entries()) cell.hidden = !this.#unfolded.has(place);
    return line;
  }
}

/**
 * @param {number} count
 * @param {string} noun
 */
function counted(count, noun) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** @param {string} label */
function keyOf(label) {
  return label.toLowerCase().replaceAll(/[^a-z0-9]+/gu, '-');
}
