/**
 * Builds images that stand in for those that users pull: the servers of Debian’s packages, and the Collector and the
 * Jaeger that the tests build. Each is started by the same command and takes the same variables as the real one, as far as the example for Compose
 * needs it; Grafana’s is a server that answers anything.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureOtelcol } from '../../scripts/otelcol.ts';
import { BASE_IMAGE, buildImage, CERTIFICATES, NODE_IMAGE } from './containers.ts';
import { JAEGER_BINARY } from './go-programs.ts';

const SERVERS = 'localhost/servers:bookworm';
const PACKAGES = ['rabbitmq-server', 'redis-server', 'prometheus', 'python3-pip'];

/** In the order of their building: name → Dockerfile. */
const DOCKERFILES: Readonly<Record<string, string>> = {
  // Packages start their services unless this file refuses.
  [SERVERS]: `FROM ${BASE_IMAGE}
COPY ca.crt ${CERTIFICATES}
RUN printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d \\
  && chmod 755 /usr/sbin/policy-rc.d \\
  && apt-get -q update \\
  && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends ${PACKAGES.join(' ')}
`,
  'localhost/rabbitmq:test': `FROM ${SERVERS}\nCMD ["rabbitmq-server"]\n`,
  'localhost/redis:test': `FROM ${SERVERS}\nCMD ["redis-server", "--bind", "0.0.0.0", "--protected-mode", "no"]\n`,
  'localhost/prometheus:test': `FROM ${SERVERS}\nENTRYPOINT ["prometheus"]\n`,
  // Without a virtual environment, Debian’s pip installs only if it is told to.
  'localhost/python:test': `FROM ${SERVERS}
RUN ln -s python3 /usr/bin/python
ENV PIP_BREAK_SYSTEM_PACKAGES=1 PIP_CERT=${CERTIFICATES}
`,
  'localhost/collector:test': `FROM ${BASE_IMAGE}
COPY otelcol /otelcol
ENTRYPOINT ["/otelcol"]
CMD ["--config", "/etc/otelcol-contrib/config.yaml"]
`,
  'localhost/jaeger:test': `FROM ${BASE_IMAGE}
COPY jaeger /jaeger
ENV JAEGER_LISTEN_HOST=0.0.0.0
ENTRYPOINT ["/jaeger"]
`,
  'localhost/grafana:test': `FROM ${NODE_IMAGE}
CMD ["node", "--eval", "require('node:http').createServer((_, answer) => answer.end('ok')).listen(3000)"]
`,
};

/** The variables of the example for Compose that name them. */
export const STAND_INS = {
  RABBITMQ_IMAGE: 'localhost/rabbitmq:test',
  REDIS_IMAGE: 'localhost/redis:test',
  PROMETHEUS_IMAGE: 'localhost/prometheus:test',
  PYTHON_IMAGE: 'localhost/python:test',
  COLLECTOR_IMAGE: 'localhost/collector:test',
  JAEGER_IMAGE: 'localhost/jaeger:test',
  GRAFANA_IMAGE: 'localhost/grafana:test',
};

/** Builds them, or what changed of them. Jaeger itself must have been built. */
export async function buildStandIns(): Promise<void> {
  const collector = ensureOtelcol();
  if (!collector.available) throw new Error(collector.reason);
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-stand-ins-'));
  try {
    cpSync(collector.binary, join(folder, 'otelcol'));
    cpSync(JAEGER_BINARY, join(folder, 'jaeger'));
    cpSync(CERTIFICATES, join(folder, 'ca.crt'), { dereference: true });
    for (const [tag, text] of Object.entries(DOCKERFILES)) {
      const file = join(folder, 'Dockerfile');
      writeFileSync(file, text);
      await buildImage({ tag, file, context: folder });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
