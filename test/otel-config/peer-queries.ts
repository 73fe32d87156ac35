/**
 * What celery-exporter’s dashboards and alerts ask Prometheus for (celery-exporter at 95e8e49), and Flower’s (at e6cf8ef), as facts:
 * each query once, without its panel. It asks nobody.
 */

export interface PeerQuery {
  readonly expr: string;
  /** Of an alert, or of a panel that counts what is wrong: what it compares with, behind the expression. */
  readonly unless?: string;
  /** Why the run of the tests has no data for it. */
  readonly absent?: string;
}

const WHERE = 'cluster="$cluster", namespace="$namespace", job=~"$job", queue_name!~"None"';
const OF_QUEUE = `${WHERE}, queue_name=~"$queue_name"`;
const OF_TASK = `${OF_QUEUE}, name=~"$task", name!~"None"`;
const ANY_CELERY = 'job=~".*celery.*", queue_name!~"None"';
const COUNTERS = ['succeeded', 'failed', 'sent', 'received', 'retried', 'revoked', 'rejected'];

const increase = (counter: string, where: string, range: string): string =>
  `increase(celery_task_${counter}_total{${where}}[${range}])`;
const rounded = (counter: string, where: string, range: string, by = ''): string =>
  `sum(round(${increase(counter, where, range)})) ${by}`;
function successRate(where: string, range: string, by = ''): string {
  const [succeeded, failed] = ['succeeded', 'failed'].map((counter) => rounded(counter, where, range, by));
  return `${succeeded} / (${succeeded} + ${failed})`;
}
const runtimeMean = (where: string, by = ''): string =>
  ['sum', 'count'].map((part) => `sum(rate(celery_task_runtime_${part}{${where}}[1w])) ${by}`).join(' / ');
const quantiles = (where: string, by: string): readonly string[] =>
  ['0.50', '0.95', '0.99'].map(
    (quantile) =>
      `histogram_quantile(${quantile}, sum(irate(celery_task_runtime_bucket{${where}}[$__rate_interval])) ${by})`,
  );
const most = (where: string, by: string): string =>
  `topk(10, sum(rate(celery_task_received_total{${where}}[6h])) by (${by}))`;
const each = (expr: (counter: string) => string): readonly string[] => COUNTERS.map(expr);

/** Its variables ask for the values of labels. */
const VARIABLES = [
  'count by (cluster) (celery_worker_up{})',
  'count by (namespace) (celery_worker_up{cluster="$cluster"})',
  'count by (job) (celery_worker_up{cluster="$cluster", namespace="$namespace"})',
  `count by (queue_name) (celery_task_received_total{${WHERE}})`,
  `count by (name) (celery_task_received_total{${OF_QUEUE}, name!~"None"})`,
];
const OVERVIEW = [
  `count(celery_worker_up{${WHERE}} == 1)`,
  `sum(celery_worker_tasks_active{${WHERE}})`,
  `count(group by (queue_name) (celery_queue_length{${WHERE}}))`,
  rounded('received', WHERE, '1w'),
  successRate(WHERE, '1w'),
  `${runtimeMean(WHERE)} > 0`,
  `topk(10, sum(celery_queue_length{${WHERE}}) by (queue_name))`,
  most(WHERE, 'name'),
  ...each((counter) => `sum(${increase(counter, WHERE, '6h')})`),
  `sum(celery_queue_length{${OF_QUEUE}}) by (job, queue_name)`,
  `${successRate(OF_QUEUE, '$__range', 'by (job)')} > -1`,
  ...each((counter) => rounded(counter, OF_QUEUE, '$__range', 'by (job)')),
  ...each((counter) => rounded(counter, OF_QUEUE, '$__rate_interval')),
  ...quantiles(OF_QUEUE, 'by (job, le)'),
  `round(sum(${increase('failed', OF_QUEUE, '1w')}) by (job, name))`,
  `round(sum(${increase('failed', OF_QUEUE, '1w')}) by (job, exception))`,
  `${runtimeMean(OF_QUEUE, 'by (name)')} > 0`,
];
const rate = (counter: string): string =>
  `sum(rate(celery_task_${counter}_total{${OF_TASK}}[$__rate_interval]))`;
const BY_TASK = [
  most(OF_QUEUE, 'queue_name'),
  most(OF_QUEUE, 'name'),
  ...each((counter) => `sum(${increase(counter, OF_QUEUE, '6h')})`),
  `${successRate(OF_TASK, '1w', 'by (name)')} > -1`,
  ...each((counter) => rounded(counter, OF_TASK, '1w', 'by (name)')),
  `round(sum(${increase('failed', OF_TASK, '1w')}) by (name, exception))`,
  ...each((counter) => rounded(counter, OF_TASK, '$__rate_interval', 'by (name)')),
  rounded('failed', OF_TASK, '$__rate_interval', 'by (name, exception)'),
  `${rate('succeeded')} / (${rate('succeeded')} + ${rate('failed')})`,
  ...quantiles(OF_TASK, 'by (name, job, le)'),
];
const alerting = (counter: string): string =>
  `sum(${increase(counter, `${ANY_CELERY}, name!~"None"`, '10m')}) by (job, namespace, queue_name, name)`;

export const CELERY_EXPORTER_QUERIES: readonly PeerQuery[] = [
  ...[...VARIABLES, ...OVERVIEW, ...BY_TASK].map((expr) => ({ expr })),
  {
    expr: `${alerting('failed')} / (${alerting('failed')} + ${alerting('succeeded')}) * 100`,
    unless: '> 5',
  },
  { expr: `sum(celery_queue_length{${ANY_CELERY}}) by (job, namespace, queue_name)`, unless: '> 100' },
  { expr: 'celery_worker_up{job=~".*celery.*"}', unless: '== 0' },
];

const WORKER = 'worker=~"$worker"';
const WORKER_TASK = `${WORKER}, task=~"$task"`;
const ENDS = 'type=~"task-(succeeded|failed)"';
const events = (matcher: string, range: string): string =>
  `increase(flower_events_total{${WORKER_TASK}, ${matcher}}[${range}])`;
const runtime = (part: string, by: string): string =>
  `sum by (${by}) (rate(flower_task_runtime_seconds_${part}{${WORKER_TASK}}[$__rate_interval]))`;
const ofType = (matcher: string): string =>
  `sum(avg_over_time(flower_events_total{${matcher}}[15m])) by (task)`;

/** Flower’s dashboard adds `or vector(0)` to the first four, which would always have data. */
export const FLOWER_QUERIES: readonly PeerQuery[] = [
  { expr: `count(flower_worker_online{${WORKER}} == 1)` },
  { expr: `count(flower_worker_online{${WORKER}} == 0)`, absent: 'no worker is offline' },
  { expr: `sum(${events(ENDS, '$__range')})` },
  { expr: `sum(${events('type="task-failed"', '$__range')})` },
  { expr: `flower_worker_number_of_currently_executing_tasks{${WORKER}}` },
  ...[ENDS, 'type="task-failed"', 'type="task-retried"'].map((matcher) => ({
    expr: `sum by (worker) (${events(matcher, '$__rate_interval')})`,
  })),
  { expr: `sum by (worker) (flower_worker_prefetched_tasks{${WORKER_TASK}})` },
  { expr: `avg by (task) (flower_task_prefetch_time_seconds{${WORKER_TASK}})` },
  { expr: `${runtime('sum', 'task')} / clamp_min(${runtime('count', 'task')}, 0.000000001)` },
  { expr: `histogram_quantile(0.95, ${runtime('bucket', 'le, task')})` },
  { expr: 'count by (worker) (flower_worker_online)' },
  { expr: 'count by (task) (flower_events_total)' },
  { expr: 'flower_worker_online', unless: '== 0' },
  {
    expr: `${ofType('type="task-failed"')} / ${ofType('type=~"task-failed|task-succeeded"')} * 100`,
    unless: '> 1',
  },
  {
    expr: 'sum(avg_over_time(flower_task_prefetch_time_seconds[15m])) by (task, worker)',
    unless: '> 1',
  },
];
