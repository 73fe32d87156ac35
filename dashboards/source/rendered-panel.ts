/** Makes a panel of Grafana’s of a row of a table. What it asks and says is in the row. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  GraphDrawStyle,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  FieldColorBuilder,
  FieldColorModeId,
  type Panel,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as statetimeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
import { leadingTo, TASK_LINK } from './links.ts';
import type { PanelQuery, PanelRow, Step } from './panel-table.ts';
import { SOURCE } from './variables.ts';

const HEIGHTS = { stat: 4, series: 8, stacked: 8, heatmap: 8, table: 10, up: 8 } as const;

const DASHED = new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed);

/** What every kind of panel has; each returns itself. */
interface AnyPanel {
  id(id: number): this;
  title(title: string): this;
  description(text: string): this;
  datasource(source: typeof SOURCE): this;
  unit(unit: string): this;
  span(width: number): this;
  height(height: number): this;
  withTarget(target: Builder<ReturnType<DataqueryBuilder['build']>>): this;
  links(links: ReturnType<typeof leadingTo>[]): this;
  thresholds(thresholds: ThresholdsConfigBuilder): this;
  max(max: number): this;
  min(min: number): this;
}

export function renderedPanel(row: PanelRow, id: number): Builder<Panel> {
  switch (row.kind) {
    case 'stat':
      return common(
        new stat.PanelBuilder()
          .noValue('–')
          .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull'])),
        row,
        id,
      );
    case 'series':
      return common(row.steps === undefined ? lines() : lines().thresholdsStyle(DASHED), row, id).min(0);
    case 'stacked':
      return common(
        lines().fillOpacity(40).stacking(new StackingConfigBuilder().mode(StackingMode.Normal)),
        row,
        id,
      ).min(0);
    case 'heatmap':
      return common(
        new heatmap.PanelBuilder().calculate(false).yAxis(new heatmap.YAxisConfigBuilder().unit(row.unit)),
        row,
        id,
      );
    case 'up':
      return common(
        new statetimeline.PanelBuilder()
          .showValue(VisibilityMode.Never)
          .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds)),
        row,
        id,
      );
    case 'table':
      return columns(common(new table.PanelBuilder(), row, id), row);
  }
}

function common<P extends AnyPanel>(panel: P, row: PanelRow, id: number): P {
  const { kind, title, description, unit, width, steps, max, leadsTo } = row;
  panel.id(id).title(title).description(description).datasource(SOURCE).unit(unit);
  panel.span(width).height(row.height ?? HEIGHTS[kind]);
  row.queries.forEach((query, index) => {
    panel.withTarget(target(query, row, String.fromCharCode(65 + index)));
  });
  if (steps !== undefined) panel.thresholds(thresholds(steps));
  if (max !== undefined) panel.max(max);
  if (leadsTo !== undefined) panel.links([leadingTo(leadsTo)]);
  return panel;
}

function target(query: PanelQuery, { kind, exemplars }: PanelRow, refId: string): DataqueryBuilder {
  const built = new DataqueryBuilder().refId(refId).expr(query.expr).datasource(SOURCE);
  if (kind === 'table') return built.instant().format(PromQueryFormat.Table);
  built.legendFormat(query.legend);
  if (kind === 'stat' && query.expr.includes('$__range')) return built.instant();
  if (exemplars === true) built.exemplar(true);
  return kind === 'heatmap' ? built.range().format(PromQueryFormat.Heatmap) : built.range();
}

function lines(): timeseries.PanelBuilder {
  return new timeseries.PanelBuilder()
    .drawStyle(GraphDrawStyle.Line)
    .showPoints(VisibilityMode.Never)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));
}

/** One row for each set of labels, one column for each query. */
function columns(panel: table.PanelBuilder, { queries }: PanelRow): table.PanelBuilder {
  const value = (index: number): string =>
    queries.length === 1 ? 'Value' : `Value #${String.fromCharCode(65 + index)}`;
  const names = Object.fromEntries(queries.map(({ legend }, index) => [value(index), legend]));
  panel
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: { excludeByName: { Time: true }, renameByName: names },
    })
    .overrideByName('celery_task_name', [{ id: 'links', value: [TASK_LINK] }]);
  for (const { legend, unit } of queries)
    if (unit !== undefined) panel.overrideByName(legend, [{ id: 'unit', value: unit }]);
  return panel;
}

function thresholds(steps: readonly Step[]): ThresholdsConfigBuilder {
  const rows = steps.map(({ from, color }): Threshold => ({ value: from ?? null, color }));
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(rows);
}
