/**
 * Starts real OpenTelemetry Collectors for tests, each on its own loopback ports: with `otel-config/collector.yaml`,
 * which reads them from the environment, or with a test's own configuration. `scripts/otelcol.ts` builds the binary.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureOtelcol } from '../../scripts/otelcol.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { atExit } from './at-exit.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { runToEnd, type ServerProcess, startServerProcess } from './server-process.ts';

/** The example configuration. */
export const COLLECTOR_CONFIG_FILE = resolve(import.meta.dirname, '../../otel-config/collector.yaml');

const LOOK_INTERVAL_MS = 50;
const READY = 'Everything is ready. Begin running and processing data.';

/** All on 127.0.0.1. A configuration that does not use one leaves it closed. */
export interface OtelcolPorts {
  readonly otlpGrpc: number;
  readonly otlpHttp: number;
  /** `/metrics` with what was received. */
  readonly prometheus: number;
  readonly health: number;
  /** `/metrics` of the Collector itself. */
  readonly own: number;
}

export interface OtelcolOptions {
  /** The configuration, as YAML, with the variables of `portVariables`; default: `COLLECTOR_CONFIG_FILE`. */
  readonly configText?: string;
  /** More variables for the configuration. */
  readonly env?: Readonly<Record<string, string>>;
  /** The ports of a stopped Collector, to take its place. */
  readonly ports?: OtelcolPorts;
}

/** A running Collector. */
export interface Otelcol {
  readonly ports: OtelcolPorts;
  /** Whether its health check says that its pipelines run. */
  isHealthy(): Promise<boolean>;
  /** The text that Prometheus would scrape, with the received metrics. */
  metricsText(): Promise<string>;
  /** The same in OpenMetrics, which has exemplars. */
  openMetricsText(): Promise<string>;
  /** Resolves once the former has this line, with sorted labels; rejects with all of it after 15 s. */
  untilMetricsLine(line: string): Promise<void>;
  /** Its log so far; also after `stop()`. */
  log(): string;
  /** SIGSTOP and SIGCONT suspend it for a while; SIGHUP makes it read its configuration again. */
  signal(signal: NodeJS.Signals): void;
  /** Resolves when its data is sent, its process gone and its ports closed; removes its folder. May be called twice. */
  stop(): Promise<void>;
}

/**
 * For the `skip` of a test: why no Collector is available, or false. Builds it if necessary, which takes
 * minutes. Throws in CI if there is none.
 */
export function skipWithoutOtelcol(): string | false {
  const build = ensureOtelcol();
  return build.available ? false : build.reason;
}

/** Starts a Collector and resolves once its pipelines run. Rejects with the end of its log if they do not. */
export async function startOtelcol(options: OtelcolOptions = {}): Promise<Otelcol> {
  const ports = options.ports ?? (await freePorts());
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-otelcol-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const forgetFolder = atExit(removeFolder);
  const server = await startServerProcess({
    command: binary(),
    args: ['--config', configFile(folder, options.configText)],
    env: { ...portVariables(ports), ...options.env },
    logFile: join(folder, 'log'),
  });
  const collector = new Collector(ports, server, () => {
    forgetFolder();
    removeFolder();
  });
  try {
    await server.untilLog(READY, DEADLINE_MS);
    return collector;
  } catch (error) {
    await collector.stop();
    throw error;
  }
}

/**
 * Resolves if the Collector would start with this configuration (as in `OtelcolOptions`); rejects with what is wrong.
 */
export async function validateOtelcolConfig(
  options: Pick<OtelcolOptions, 'configText' | 'env'> = {},
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-otelcol-'));
  try {
    const args = ['validate', '--config', configFile(folder, options.configText)];
    await runToEnd({ command: binary(), args, env: { ...options.env } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Collector implements Otelcol {
  readonly ports: OtelcolPorts;
  readonly #server: ServerProcess;
  readonly #removeFolder: () => void;
  #lastLog: string | undefined;

  constructor(ports: OtelcolPorts, server: ServerProcess, removeFolder: () => void) {
    this.ports = ports;
    this.#server = server;
    this.#removeFolder = removeFolder;
  }

  async isHealthy(): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${this.ports.health}/`)).ok;
  }

  metricsText(): Promise<string> {
    return this.#metrics('text/plain');
  }

  openMetricsText(): Promise<string> {
    return this.#metrics('application/openmetrics-text; version=1.0.0');
  }

  async #metrics(accept: string): Promise<string> {
    const url = `http://127.0.0.1:${this.ports.prometheus}/metrics`;
    const response = await fetch(url, { headers: { accept } });
    const text = await response.text();
    if (!response.ok) throw new Error(`the Collector answers ${response.status}: ${text}`);
    return text;
  }

  async untilMetricsLine(line: string): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const text = await this.metricsText();
      if (text.split('\n').includes(line)) return;
      if (Date.now() > deadline) throw new Error(`the Collector does not serve '${line}', but\n${text}`);
      await delay(LOOK_INTERVAL_MS);
    }
  }

  log(): string {
    return this.#lastLog ?? this.#server.log();
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#server.isRunning()) process.kill(this.#server.pid, signal);
  }

  async stop(): Promise<void> {
    if (this.#lastLog !== undefined) return;
    // A suspended process ignores other signals.
    this.signal('SIGCONT');
    try {
      await this.#server.end('SIGTERM', DEADLINE_MS);
    } finally {
      this.#lastLog = this.#server.log();
      this.#removeFolder();
    }
    for (const port of Object.values(this.ports)) {
      if (await isPortOpen(port)) throw new Error(`port ${port} is still open`);
    }
  }
}

async function freePorts(): Promise<OtelcolPorts> {
  return {
    otlpGrpc: await freePort(),
    otlpHttp: await freePort(),
    prometheus: await freePort(),
    health: await freePort(),
    own: await freePort(),
  };
}

/** The ports by their variables in a configuration: `${env:OTLP_GRPC_ENDPOINT}`. */
function portVariables(ports: OtelcolPorts): Readonly<Record<string, string>> {
  return {
    OTLP_GRPC_ENDPOINT: `127.0.0.1:${ports.otlpGrpc}`,
    OTLP_HTTP_ENDPOINT: `127.0.0.1:${ports.otlpHttp}`,
    PROMETHEUS_ENDPOINT: `127.0.0.1:${ports.prometheus}`,
    HEALTH_CHECK_ENDPOINT: `127.0.0.1:${ports.health}`,
    COLLECTOR_METRICS_HOST: '127.0.0.1',
    COLLECTOR_METRICS_PORT: String(ports.own),
  };
}

function configFile(folder: string, text: string | undefined): string {
  if (text === undefined) return COLLECTOR_CONFIG_FILE;
  const file = join(folder, 'collector.yaml');
  writeFileSync(file, text);
  return file;
}

function binary(): string {
  const build = ensureOtelcol();
  if (!build.available) throw new Error(build.reason);
  return build.binary;
}
