/** How one dashboard leads to another, with the same time and choice. It never leads anywhere else. */
import { DashboardLinkBuilder, DashboardLinkType } from '@grafana/grafana-foundation-sdk/dashboard';
import type { DashboardUid } from './panel-table.ts';

const CHOICE = `\${datasource:queryparam}&\${environment:queryparam}&\${service:queryparam}&\${__url_time_range}`;
/** All of these dashboards have it. */
export const TAG = 'celery-otel';

/** From a panel as a whole. */
export function leadingTo(uid: DashboardUid) {
  return new DashboardLinkBuilder('Details').type(DashboardLinkType.Link).url(`/d/${uid}?${CHOICE}`);
}

/** From a row of a table of tasks. */
export const TASK_LINK = {
  title: 'This task',
  url: `/d/celery-task?var-task=\${__data.fields.celery_task_name}&${CHOICE}`,
};

/** To all others, at the top. */
export function toOthers() {
  return new DashboardLinkBuilder('Celery')
    .type(DashboardLinkType.Dashboards)
    .tags([TAG])
    .asDropdown(true)
    .includeVars(true)
    .keepTime(true);
}
