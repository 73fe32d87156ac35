/**
 * Starts Prometheus servers for tests, each on its own loopback port with its own data folder and targets. It never
 * touches the system's own Prometheus service.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DEADLINE_MS } from '../deadline.ts';
import { atExit } from './at-exit.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { startServerProcess } from './server-process.ts';

const LOOK_INTERVAL_MS = 50;
const HOUR_S = 3600;
const READY = 'Server is ready to receive web requests.';

/** What to scrape. Labels that the target sends win over those of the scrape (`honor_labels`), as from a Collector. */
export interface Scrape {
  readonly job: string;
  /** `host:port`, scraped at `/metrics`. */
  readonly targets: readonly string[];
  readonly intervalMs: number;
}

/** Label name → value, with `__name__` if there is a name. */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** An example of a measurement of a series. */
export interface FoundExemplar {
  /** Of its series. */
  readonly series: Labels;
  /** `trace_id` and `span_id`. */
  readonly labels: Labels;
  readonly value: number;
}

/** A running Prometheus server. */
export interface Prometheus {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** The current instant vector of the expression. Rejects with Prometheus' error if it is invalid, or no vector. */
  query(promql: string): Promise<readonly Sample[]>;
  /**
   * The same, as soon as it is not empty; rejects after 20 s. A target is scraped for the first time about five seconds
   * after the start.
   */
  untilSamples(promql: string): Promise<readonly Sample[]>;
  /** Those of the last hour that the expression’s series have. */
  exemplars(promql: string): Promise<readonly FoundExemplar[]>;
  /** The series of a selector, `{job="shop"}`, whether they still get samples or not. */
  series(selector: string): Promise<readonly Labels[]>;
  /** Resolves when its process is gone and its port closed; removes its folder. May be called twice. */
  stop(): Promise<void>;
}

/** Starts a server and resolves once it answers queries. Rejects with the end of its log if it does not. */
export async function startPrometheus(options: {
  readonly scrape: readonly Scrape[];
  /** Name of a file → its text. */
  readonly rules?: Readonly<Record<string, string>>;
}): Promise<Prometheus> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-prometheus-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const forgetFolder = atExit(removeFolder);
  const configFile = join(folder, 'prometheus.yml');
  const rules = Object.entries(options.rules ?? {});
  for (const [name, text] of rules) writeFileSync(join(folder, name), text);
  const ruleFiles = rules.map(([name]) => name);
  writeFileSync(configFile, configuration(options.scrape, ruleFiles));
  const server = await startServerProcess({
    command: 'prometheus',
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    env: { PATH: process.env['PATH'] },
    cwd: folder,
    logFile: join(folder, 'log'),
  });
  const stop = async () => {
    await server.end('SIGTERM', DEADLINE_MS);
    forgetFolder();
    removeFolder();
    if (await isPortOpen(port)) throw new Error(`port ${port} is still open`);
  };
  try {
    await server.untilLog(READY, DEADLINE_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  const url = `http://127.0.0.1:${port}`;
  const query = async (promql: string) => readVector(await ask(`${url}/api/v1/query`, { query: promql }));
  return {
    url,
    port,
    query,
    untilSamples: (promql) => untilSamples(query, promql),
    async exemplars(promql) {
      const nowS = Date.now() / 1000;
      const times = { start: `${nowS - HOUR_S}`, end: `${nowS + HOUR_S}` };
      return readList(await ask(`${url}/api/v1/query_exemplars`, { query: promql, ...times })).flatMap(
        readExemplars,
      );
    },
    series: async (selector) =>
      readList(await ask(`${url}/api/v1/series`, { 'match[]': selector })).map(readLabels),
    stop,
  };
}

async function untilSamples(query: Prometheus['query'], promql: string): Promise<readonly Sample[]> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const samples = await query(promql);
    if (samples.length > 0) return samples;
    if (Date.now() > deadline) throw new Error(`Prometheus has no sample of ${promql}`);
    await delay(LOOK_INTERVAL_MS);
  }
}

/** JSON, which is YAML as well. */
function configuration(scrape: readonly Scrape[], ruleFiles: readonly string[]): string {
  return JSON.stringify({
    rule_files: ruleFiles,
    scrape_configs: scrape.map(({ job, targets, intervalMs }) => ({
      job_name: job,
      honor_labels: true,
      scrape_interval: `${intervalMs}ms`,
      scrape_timeout: `${intervalMs}ms`,
      static_configs: [{ targets }],
    })),
  });
}

/**
 * Queries the HTTP API (https://prometheus.io/docs/prometheus/latest/querying/api/). @returns the `data` of the
 * response
 */
async function ask(url: string, parameters: Readonly<Record<string, string>>): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(parameters) });
  const answer = readRecord(await response.json());
  if (answer['status'] !== 'success') throw new Error(`${JSON.stringify(parameters)}: ${answer['error']}`);
  return answer['data'];
}

function readVector(data: unknown): readonly Sample[] {
  const { resultType, result } = readRecord(data);
  if (resultType !== 'vector') throw new Error(`an instant vector was expected, got a ${resultType}`);
  return readList(result).map((item) => {
    const { metric, value } = readRecord(item);
    // The time in seconds, and the value as text.
    return { labels: readLabels(metric), value: readValue(readList(value)[1]) };
  });
}

function readExemplars(found: unknown): readonly FoundExemplar[] {
  const { seriesLabels, exemplars } = readRecord(found);
  return readList(exemplars).map((item) => {
    const { labels, value } = readRecord(item);
    return { series: readLabels(seriesLabels), labels: readLabels(labels), value: readValue(value) };
  });
}

function readValue(text: unknown): number {
  switch (text) {
    case '+Inf':
      return Number.POSITIVE_INFINITY;
    case '-Inf':
      return Number.NEGATIVE_INFINITY;
    case 'NaN':
      return Number.NaN;
    default: {
      const value = typeof text === 'string' ? Number(text) : Number.NaN;
      if (Number.isNaN(value)) throw new Error(`a value was expected, got ${JSON.stringify(text)}`);
      return value;
    }
  }
}

function readLabels(value: unknown): Labels {
  return Object.fromEntries(Object.entries(readRecord(value)).map(([name, label]) => [name, String(label)]));
}

function readRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`an object was expected, got ${JSON.stringify(value)}`);
  }
  return Object.fromEntries(Object.entries(value));
}

function readList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`a list was expected, got ${JSON.stringify(value)}`);
  return value;
}
