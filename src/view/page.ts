/** What the page uses of the view: it is compiled to `page/view.js`. */
export { type Column, EXPORTS, QUEUES, SERVICES, TASK_RATES, WORKERS } from './columns.ts';
export { factsOf, otherProblems, SIGNS, verdictOf } from './facts.ts';
export { duration, number } from './numbers.ts';
export { matchingRows, orderBy, orderedRows } from './order.ts';
export { exportRows, taskRows } from './snapshot.ts';
