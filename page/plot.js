/** A small plot of the last hour, with its numbers in words. */
import { byId, element } from './elements.js';
import { number } from './view.js';

const SVG = 'http://www.w3.org/2000/svg';
const STEPS = 360;
const HEIGHT = 100;

/** @param {{ readonly step_s: number, readonly counts: readonly number[] }} events */
export function showPlot({ step_s, counts }) {
  const rates = counts.map((count) => count / step_s);
  const most = Math.max(0, ...rates);
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${STEPS} ${HEIGHT}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', outline(rates, most));
  svg.append(path);
  const said =
    most === 0
      ? 'No events in the last hour.'
      : `Events per second in the last hour: ${number(rates.at(-1))} now, ${number(most)} at most.`;
  byId('plot').replaceChildren(svg, element('figcaption', {}, said));
}

/**
 * @param {readonly number[]} rates
 * @param {number} most
 * @returns {string}
 */
function outline(rates, most) {
  if (most === 0) return '';
  const first = STEPS - rates.length;
  const tops = rates.map((rate, index) => {
    const top = (HEIGHT * (1 - (0.95 * rate) / most)).toFixed(1);
    return `V${top}H${first + index + 1}`;
  });
  return `M${first} ${HEIGHT}${tops.join('')}V${HEIGHT}Z`;
}
