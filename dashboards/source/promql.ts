/** What many queries have in common: selectors with the variables of a dashboard, rates, ratios, quantiles. It runs none of them. */

const ENVIRONMENT = 'deployment_environment_name=~"$environment"';
/** Of the chosen services. */
export const SERVICE = `job=~"$service", ${ENVIRONMENT}`;
/** Of a task in the chosen queues. */
export const TASK = `${SERVICE}, celery_queue_name=~"$queue", celery_task_name=~"$task"`;
/** The same of a metric without queues. */
export const TASK_ANYWHERE = `${SERVICE}, celery_task_name=~"$task"`;
/** Of the chosen services, in the metrics about celery-otel itself. */
export const WATCHED = `celery_otel_service=~"$service", ${ENVIRONMENT}`;
/** Of the processes of celery-otel. */
export const PROCESS = ENVIRONMENT;

/** The counters of how runs end. */
export const ENDS = ['succeeded', 'failed', 'retried', 'revoked', 'rejected', 'cancelled'] as const;

export function rate(counter: string, selector: string): string {
  return `rate(${counter}{${selector}}[$__rate_interval])`;
}

/** In the time range of the dashboard. */
export function inRange(counter: string, selector: string): string {
  return `increase(${counter}{${selector}}[$__range])`;
}

export function sumBy(labels: string, vector: string): string {
  return labels === '' ? `sum(${vector})` : `sum by (${labels}) (${vector})`;
}

/** Failed runs by runs that failed or succeeded. One of the two may have no series. */
export function failureRatio(
  labels: string,
  selector: string,
  measure: (counter: string, selector: string) => string,
): string {
  const failed = sumBy(labels, measure('celery_task_failed_total', selector));
  const succeeded = sumBy(labels, measure('celery_task_succeeded_total', selector));
  return `(${failed} or 0 * ${succeeded}) / ((${failed} or 0 * ${succeeded}) + (${succeeded} or 0 * ${failed}))`;
}

/** Of a histogram, where `labels` are those to keep. */
export function quantile(part: number, labels: string, histogram: string, selector: string): string {
  const kept = labels === '' ? 'le' : `le, ${labels}`;
  return `histogram_quantile(${part}, ${sumBy(kept, rate(`${histogram}_bucket`, selector))})`;
}

/** The same of the time range of the dashboard. */
export function quantileInRange(part: number, labels: string, histogram: string, selector: string): string {
  return `histogram_quantile(${part}, ${sumBy(`le, ${labels}`, inRange(`${histogram}_bucket`, selector))})`;
}

/** The mean of a histogram. */
export function mean(labels: string, histogram: string, selector: string): string {
  const [sum, count] = ['sum', 'count'].map((part) => sumBy(labels, rate(`${histogram}_${part}`, selector)));
  return `${sum} / ${count}`;
}
