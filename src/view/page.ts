/** The parts of the view that the pages use: compiled to `page/view.js`. */
export { documentPathOf, type Place, pathOf, placeOf } from './address.ts';
export { axisValues, knownSpans, tickTimes, type Unit, valueText } from './axis.ts';
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
export { type Lanes, lanesOf } from './lanes.ts';
export { clock, duration, moment, number } from './numbers.ts';
export { matchingRows, orderBy, orderedRows } from './order.ts';
export {
  OPEN_RUNS,
  outcomeText,
  outcomeTone,
  RUNS,
  STAGES,
} from './run-columns.ts';
export { exportRows, limitRows, taskRows } from './snapshot.ts';
export { raisedAt, traceParts } from './stack-trace.ts';
