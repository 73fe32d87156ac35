/**
 * The unit, run by a real systemd as the first process of a container: hardened as it says, stopped in an orderly way, and
 * restarted unless its options are wrong. Nothing of this machine’s systemd is used.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT } from '../contract/sources.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { buildImage, buildOurs, podman, skipWithoutContainers } from './containers.ts';

const OURS = 'localhost/celery-otel:test';
const IMAGE = 'localhost/systemd:test';
const DOCKERFILE = `FROM ${OURS}
USER root
RUN apt-get -q update \\
  && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends systemd systemd-sysv dbus \\
  && ln -s /app/dist/cli/main.js /usr/local/bin/celery-otel
COPY celery-otel.service /etc/systemd/system/
COPY --chmod=600 celery-otel.env.example /etc/celery-otel/celery-otel.env
HEALTHCHECK NONE
ENTRYPOINT []
CMD ["/sbin/init"]
`;
/** What systemd needs to make namespaces for its services. */
const RIGHTS = ['--cap-add=SYS_ADMIN,NET_ADMIN,SYS_PTRACE', '--security-opt=seccomp=unconfined'];
const LOOK_INTERVAL_MS = 200;

describe('the unit', { skip: skipWithoutContainers() }, () => {
  let id: string;

  before(async () => {
    await buildOurs(OURS);
    const context = mkdtempSync(path.join(tmpdir(), 'celery-otel-systemd-'));
    try {
      for (const name of ['celery-otel.service', 'celery-otel.env.example'])
        cpSync(path.join(ROOT, 'deploy/systemd', name), path.join(context, name));
      const file = path.join(context, 'Dockerfile');
      writeFileSync(file, DOCKERFILE);
      await buildImage({ tag: IMAGE, file, context });
    } finally {
      rmSync(context, { recursive: true });
    }
    const options = [
      '--detach',
      '--systemd=always',
      '--network=none',
      ...RIGHTS,
      '--security-opt=unmask=ALL',
    ];
    const started = await podman('run', ...options, IMAGE);
    assert.equal(started.code, 0, started.stderr);
    id = started.stdout.trim();
    await until(/^running$/mu, () => inside('systemctl is-system-running'));
  });
  after(() => podman('rm', '--force', '--time=0', id));

  async function inside(script: string): Promise<string> {
    const { stdout, stderr } = await podman('exec', id, 'sh', '-c', script);
    return stdout + stderr;
  }
  const show = (property: string) => inside(`systemctl show --value --property=${property} celery-otel`);
  const log = () => inside('journalctl --unit=celery-otel --no-pager --output=cat');

  test('it runs as a user of its own, without rights', async () => {
    assert.equal(await inside('systemctl start celery-otel'), '');
    await until(/broker-session-ended/u, log);
    const status = await inside(`cat /proc/$(systemctl show --value --property=MainPID celery-otel)/status`);
    assert.match(status, /^Uid:\t6\d{4}\t/mu, 'a dynamic user');
    assert.match(status, /^CapEff:\t0+$/mu);
    assert.match(status, /^NoNewPrivs:\t1$/mu);
    assert.match(status, /^Seccomp:\t2$/mu);
  });

  test('it is started again when it was killed', async () => {
    await inside('systemctl kill --signal=KILL celery-otel');
    await until(/^1$/mu, () => show('NRestarts'));
    await until(/^active$/mu, () => show('ActiveState'));
    // Earlier, a signal would end it before it listens to any.
    await until(/restart counter is at 1[\s\S]*broker-session-ended/u, log);
  });

  test('it stops in an orderly way', async () => {
    assert.equal(await inside('systemctl stop celery-otel'), '');
    assert.match(await log(), /"kind":"service-stopped"/u);
    assert.equal(await show('Result'), 'success\n');
  });

  test('wrong options are not tried again', async () => {
    await inside(
      'echo CELERY_OTEL_NONSENSE=1 >> /etc/celery-otel/celery-otel.env; systemctl start celery-otel',
    );
    await until(/^failed$/mu, () => show('ActiveState'));
    assert.equal(await show('ExecMainStatus'), '78\n');
    assert.equal(await show('NRestarts'), '0\n');
    assert.match(await log(), /CELERY_OTEL_NONSENSE/u);
  });
});

/** Resolves once the output has it. */
async function until(pattern: RegExp, output: () => Promise<string>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await output();
    if (pattern.test(found)) return;
    assert.ok(Date.now() <= deadline, `${pattern} is not in: ${found}`);
    await delay(LOOK_INTERVAL_MS);
  }
}
