/** A Prometheus behind the Collectors with the names of the peers, and the peers’ own queries of it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { ROOT } from '../contract/sources.ts';
import type { PeerCollectors } from '../otel-config/peer-collectors.ts';
import { CELERY_EXPORTER_QUERIES, FLOWER_QUERIES, type PeerQuery } from '../otel-config/peer-queries.ts';
import { CELERY_EXPORTER, FLOWER } from '../otel-config/peers.ts';

import { type Labels, type Prometheus, startPrometheus } from '../real/prometheus.ts';
import { until } from '../until.ts';

/** Its own, since some names of celery-exporter are those of celery-otel, with other labels. */
export async function startPeersPrometheus(
  t: TestContext,
  { celeryExporter, flower }: PeerCollectors,
): Promise<Prometheus> {
  const prometheus = await startPrometheus({
    scrape: [
      { job: 'celery-exporter', targets: [`127.0.0.1:${celeryExporter.ports.prometheus}`], intervalMs: 500 },
      { job: 'flower', targets: [`127.0.0.1:${flower.ports.prometheus}`], intervalMs: 500 },
    ],
    rules: { 'flower.yaml': documentedRule() },
  });
  t.after(() => prometheus.stop());
  return prometheus;
}

/** That of docs/migrating.md, evaluated more often. */
function documentedRule(): string {
  const document = readFileSync(path.join(ROOT, 'docs/migrating.md'), 'utf8');
  const [, rule = ''] = /```yaml\n([^`]*)```/u.exec(document) ?? [];
  return rule.replace('- name: flower\n', '- name: flower\n    interval: 1s\n');
}

/** `All` for each variable that has it, and the service’s job. Nobody adds a cluster or a namespace in this scrape. */
function filledIn(expr: string): string {
  return expr
    .replaceAll(/\$__(?:rate_interval|range)/gu, '15m')
    .replaceAll(/\$(?:cluster|namespace)/gu, '')
    .replaceAll('$job', CELERY_EXPORTER.job)
    .replaceAll(/\$\w+/gu, '.*');
}

/** What `irate` sees has mostly no growth; a panel shows when it had. */
const asInPanel = (expr: string): string =>
  expr.includes('irate(') ? `max_over_time((${filledIn(expr)})[15m:1s])` : filledIn(expr);

async function hasData(prometheus: Prometheus, expr: string): Promise<boolean> {
  return (await prometheus.query(expr)).some(({ value }) => Number.isFinite(value));
}

/** @throws if one of their queries has no data, but for those that say why, or is an error */
export async function untilPeersHaveData(prometheus: Prometheus): Promise<void> {
  const queries: readonly PeerQuery[] = [...CELERY_EXPORTER_QUERIES, ...FLOWER_QUERIES];
  for (const { expr, unless = '' } of queries) await prometheus.query(filledIn(`${expr} ${unless}`));
  const missing = new Set(queries.filter(({ absent }) => absent === undefined).map(({ expr }) => expr));
  await until(
    'all queries of the peers have data',
    async () => {
      for (const expr of missing) if (await hasData(prometheus, asInPanel(expr))) missing.delete(expr);
      return missing.size === 0;
    },
    () => [...missing].map(asInPanel).join('\n'),
  );
}

/** @throws if a sum of theirs does not become that under the names of celery-otel */
export async function untilSumsAreSame(ours: Prometheus, theirs: Prometheus): Promise<void> {
  const pairs = [CELERY_EXPORTER, FLOWER].flatMap(({ same, job }) =>
    same.map(([their, our]) => ({
      their: sumOf({ ...their, job }),
      our: sumOf({ ...our, job: FLOWER.job }),
    })),
  );
  let different: readonly object[] = [];
  await until(
    'the sums are the same',
    async () => {
      const looked = pairs.map(async ({ their, our }) => ({
        their,
        is: await soleValue(theirs, their),
        our: await soleValue(ours, our),
      }));
      different = (await Promise.all(looked)).filter(
        ({ is, our }) => Math.abs(is - our) > 1e-6 * Math.abs(our),
      );
      return different.length === 0;
    },
    () => different,
  );
}

function sumOf(labels: Labels): string {
  const matchers = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `sum({${matchers.join(',')}}) or vector(-1)`;
}

async function soleValue(prometheus: Prometheus, expr: string): Promise<number> {
  return (await prometheus.query(expr))[0]?.value ?? Number.NaN;
}
