/** The columns of the tables that describe dashboards: a row is a panel. It knows nothing of Grafana’s own model. */

export interface PanelQuery {
  readonly expr: string;
  /** Names labels that the query keeps; a column’s title in a table. */
  readonly legend: string;
  /** The unit of a table’s column, where it is not that of the panel. */
  readonly unit?: string;
}

/** From a value on; the first one has no value. */
export interface Step {
  readonly from?: number;
  readonly color: 'green' | 'yellow' | 'red' | 'blue';
}

export interface PanelRow {
  /** `series` is lines over time, `stacked` areas; `up` is a timeline of states; `table` is of one moment. */
  readonly kind: 'stat' | 'series' | 'stacked' | 'heatmap' | 'table' | 'up';
  readonly title: string;
  /** What it shows, and what to do. */
  readonly description: string;
  /** As Grafana names it. */
  readonly unit: string;
  readonly queries: readonly PanelQuery[];
  /** Of 24. */
  readonly width: number;
  readonly height?: number;
  readonly steps?: readonly Step[];
  readonly max?: number;
  /** Shows the traces of measurements, where the backend has them. */
  readonly exemplars?: boolean;
  /** The dashboard that it leads to. */
  readonly leadsTo?: DashboardUid;
}

export interface PanelGroup {
  readonly title: string;
  readonly panels: readonly PanelRow[];
}

export type DashboardUid =
  | 'celery-overview'
  | 'celery-task'
  | 'celery-workers-and-queues'
  | 'celery-otel-bridge';

export interface DashboardTable {
  readonly uid: DashboardUid;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly ('service' | 'queue' | 'task')[];
  readonly groups: readonly PanelGroup[];
}
