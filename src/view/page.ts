/** What the pages use of the view: it is compiled to `page/view.js`. */
export { type Place, pathOf, placeOf } from './address.ts';
export {
  BRIDGED,
  type Column,
  EXPORTS,
  GRADES,
  LIMITS,
  QUEUES,
  SERVICES,
  TASK_RATES,
  TASK_TOTALS,
  WORKERS,
} from './columns.ts';
export { type Fact, factsOf, SIGNS } from './facts.ts';
export { clock, duration, number } from './numbers.ts';
export { matchingRows, orderBy, orderedRows } from './order.ts';
export { exportRows, limitRows, taskRows } from './snapshot.ts';
