/**
 * A table that is sorted by its headings and filtered by a text, and stays quick with thousands of rows: it shows some hundred, and
 * more if asked to. Its rows are reused, so that reading it is not disturbed when it changes. It knows nothing of what it shows.
 */
import { element, setText } from './elements.js';
import { matchingRows, orderBy, orderedRows } from './view.js';

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
 * @property {(row: Row) => void} [choose] called for a row whose name is chosen
 */

/** @template Row */
export class Table {
  #columns;
  #options;
  #body = element('tbody');
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
  #rowsMax = ROWS_MIN;
  #order;

  /** @param {TableOptions<Row>} options */
  constructor(options) {
    this.#options = options;
    this.#columns = options.columns;
    this.#order = orderBy(options.columns, options.sortedBy);
    this.element = this.#build();
    this.#filter.addEventListener('input', () => this.#showFrom(ROWS_MIN));
    this.#more.addEventListener('click', () => this.#showFrom(this.#rowsMax + ROWS_MORE));
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
    const table = element(
      'table',
      { 'aria-label': title },
      element('thead', {}, element('tr', {}, ...this.#headings)),
      this.#body,
    );
    return element(
      'div',
      {},
      element('h3', {}, title),
      element('div', { class: 'tools' }, this.#filter, this.#count),
      element(
        'div',
        { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': `${title}, table` },
        table,
      ),
      this.#more,
    );
  }

  /** @param {number} index */
  #sortBy(index) {
    const { column, isDescending } = this.#order;
    this.#order = index === column ? { column, isDescending: !isDescending } : orderBy(this.#columns, index);
    this.#render();
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
    const line = this.#body.rows[index] ?? this.#addLine(index);
    const known = this.#texts[index] ?? [];
    this.#texts[index] = known;
    for (const [place, { text, tone, isName }] of this.#columns.entries()) {
      const cell = line.cells[place];
      const shown = text(row);
      const mark = tone(row);
      if (cell === undefined || known[place] === shown + mark) continue;
      known[place] = shown + mark;
      (cell.firstElementChild ?? cell).textContent = shown;
      if (place === 0) cell.title = shown;
      else cell.className = isName ? mark : `number ${mark}`;
    }
  }

  /** @param {number} index */
  #addLine(index) {
    const { choose } = this.#options;
    const line = this.#body.insertRow();
    const name = element('th', { scope: 'row' });
    if (choose !== undefined) {
      const button = element('button', { type: 'button' });
      button.addEventListener('click', () => {
        const row = this.#shown[index];
        if (row !== undefined) choose(row);
      });
      name.append(button);
    }
    line.append(name, ...this.#columns.slice(1).map(() => element('td')));
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
