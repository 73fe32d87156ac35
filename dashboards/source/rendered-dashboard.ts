/** Makes a dashboard of Grafana’s of a table, with its variables, links, rows and ids. It writes no file. */
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  RowBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { TAG, toOthers } from './links.ts';
import type { DashboardTable } from './panel-table.ts';
import { renderedPanel } from './rendered-panel.ts';
import { dataSource, labelVariable } from './variables.ts';

export function renderedDashboard(table: DashboardTable): Dashboard {
  const dashboard = new DashboardBuilder(table.title)
    .uid(table.uid)
    .description(table.description)
    .tags([TAG])
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-1h', to: 'now' })
    .refresh('1m')
    .timezone('browser')
    .editable()
    .link(toOthers())
    .withVariable(dataSource())
    .withVariable(labelVariable('environment'));
  for (const name of table.variables) dashboard.withVariable(labelVariable(name));
  let id = 0;
  const nextId = () => {
    id += 1;
    return id;
  };
  for (const { title, panels } of table.groups) {
    dashboard.withRow(new RowBuilder(title).id(nextId()));
    for (const row of panels) dashboard.withPanel(renderedPanel(row, nextId()));
  }
  return dashboard.build();
}
