/**
 * Starts Prometheus servers for tests, each on its own loopback port with its own data folder and targets. It never
 * touches the system's own Prometheus service.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atExit } from './at-exit.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { startServerProcess } from './server-process.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 15_000;
const SCRAPED_TIMEOUT_MS = 20_000;
const LOOK_INTERVAL_MS = 50;
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
  /** The series of a selector, `{job="shop"}`, whether they still get samples or not. */
  series(selector: string): Promise<readonly Labels[]>;
  /** Resolves when its process is gone and its port closed; removes its folder. May be called twice. */
  stop(): Promise<void>;
}

/** Starts a server and resolves once it answers queries. Rejects with the end of its log if it does not. */
export async function startPrometheus(options: { readonly scrape: readonly Scrape[] }): Promise<Prometheus> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-prometheus-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const forgetFolder = atExit(removeFolder);
  const configFile = join(folder, 'prometheus.yml');
  writeFileSync(configFile, configuration(options.scrape));
  const server = await startServerProcess({
    command: 'prometheus',
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    env: { PATH: process.env['PATH'] },
    cwd: folder,
    logFile: join(folder, 'log'),
  });
  const stop = async () => {
    await server.end('SIGTERM', STOP_TIMEOUT_MS);
    forgetFolder();
    removeFolder();
    if (await isPortOpen(port)) throw new Error(`port ${port} is still open`);
  };
  try {
    await server.untilLog(READY, START_TIMEOUT_MS);
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
    series: async (selector) =>
      readList(await ask(`${url}/api/v1/series`, { 'match[]': selector })).map(readLabels),
    stop,
  };
}

async function untilSamples(query: Prometheus['query'], promql: string): Promise<readonly Sample[]> {
  const deadline = Date.now() + SCRAPED_TIMEOUT_MS;
  for (;;) {
    const samples = await query(promql);
    if (samples.length > 0) return samples;
    if (Date.now() > deadline) throw new Error(`Prometheus has no sample of ${promql}`);
    await delay(LOOK_INTERVAL_MS);
  }
}

/** JSON, which is YAML as well. */
function configuration(scrape: readonly Scrape[]): string {
  return JSON.stringify({
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
