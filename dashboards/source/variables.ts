/** The variables of dashboards: which data source, environment, service, queue and task. It makes no panels. */
import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { DashboardTable } from './panel-table.ts';

/** The data source that is chosen in the dashboard. */
export const SOURCE = { type: 'prometheus', uid: `\${datasource}` };

const SERVICE = 'job=~"$service", deployment_environment_name=~"$environment"';
const LABELS = {
  service: { label: 'Service', query: 'label_values(celery_worker_up, job)' },
  queue: { label: 'Queue', query: `label_values(celery_task_received_total{${SERVICE}}, celery_queue_name)` },
  task: { label: 'Task', query: `label_values(celery_task_received_total{${SERVICE}}, celery_task_name)` },
} as const satisfies Record<DashboardTable['variables'][number], { label: string; query: string }>;
/** Not all Collectors make a label of it. */
const ENVIRONMENT = {
  label: 'Environment',
  query: 'label_values(celery_worker_up, deployment_environment_name)',
};

export function dataSource(): DatasourceVariableBuilder {
  return new DatasourceVariableBuilder('datasource').type('prometheus').label('Data source');
}

/** All values are chosen at first, and those that have no such label. */
export function labelVariable(name: DashboardTable['variables'][number] | 'environment') {
  const { label, query } = name === 'environment' ? ENVIRONMENT : LABELS[name];
  return new QueryVariableBuilder(name)
    .label(label)
    .query({ query, refId: name })
    .datasource(SOURCE)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: ['All'], value: ['$__all'] })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
}
