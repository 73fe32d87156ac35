/**
 * The objects and the chart, judged by a real API server in a namespace that enforces the level `restricted`: it refuses what
 * no schema sees. No pod runs.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Cluster, skipWithoutCluster, startCluster } from './cluster.ts';
import { helm, skipWithoutHelm } from './go-programs.ts';

const NAMESPACE = 'lab';
const PLAIN_FILE = 'deploy/kubernetes.yaml';
const CHART = 'deploy/helm/celery-otel';
const RESTRICTED = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
/** Switches on what has objects of its own. */
const MORE = [
  ...['--set', 'service.enabled=true', '--set', 'networkPolicy.enabled=true'],
  ...['--set', 'config=celery: {}', '--set', 'brokerUrl.value=amqp://rabbitmq'],
];

describe('a real API server', { skip: skipWithoutCluster() || skipWithoutHelm() }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster();
    await done('create', 'namespace', NAMESPACE);
    await done('label', 'namespace', NAMESPACE, ...RESTRICTED);
  });
  after(() => cluster?.stop());

  /** Fails with what kubectl says, if it fails. */
  async function done(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await cluster.kubectl(...args);
    assert.equal(code, 0, stdout + stderr);
    return { stdout, stderr };
  }

  test('it takes deploy/kubernetes.yaml without a warning, twice', async () => {
    const apply = ['apply', '--validate=strict', '--namespace', NAMESPACE, '--filename', PLAIN_FILE];
    const { stdout, stderr } = await done(...apply);
    assert.match(stdout, /deployment\.apps\/celery-otel created/u);
    assert.equal(stderr, '');
    assert.match((await done(...apply)).stdout, /deployment\.apps\/celery-otel unchanged/u);
    await done('delete', '--namespace', NAMESPACE, '--filename', PLAIN_FILE);
  });

  test('it would warn of a pod with more rights', async () => {
    const { stderr } = await cluster.kubectl(
      ...['create', 'deployment', 'open', '--image=open', '--namespace', NAMESPACE, '--dry-run=server'],
    );
    assert.match(stderr, /would violate PodSecurity "restricted/u);
  });

  test('the chart is installed, upgraded to everything that it has, and leaves nothing behind', async () => {
    const flags = ['--namespace', NAMESPACE, ...cluster.helmFlags];
    const installed = await helm('install', 'celery-otel', CHART, ...flags);
    assert.equal(installed.code, 0, installed.stderr);
    const upgraded = await helm('upgrade', 'celery-otel', CHART, ...flags, ...MORE);
    assert.equal(upgraded.code, 0, upgraded.stderr);
    assert.doesNotMatch(installed.stderr + upgraded.stderr, /warning|violate/iu);
    const kinds = 'deployments,services,configmaps,secrets,networkpolicies,serviceaccounts';
    const list = ['get', kinds, '--namespace', NAMESPACE, '--selector=app.kubernetes.io/name=celery-otel'];
    const { stdout } = await done(...list, '--output=name');
    assert.deepEqual(stdout.trim().split('\n').sort(), [
      'configmap/celery-otel',
      'deployment.apps/celery-otel',
      'networkpolicy.networking.k8s.io/celery-otel',
      'secret/celery-otel',
      'service/celery-otel',
      'serviceaccount/celery-otel',
    ]);
    const removed = await helm('uninstall', 'celery-otel', ...flags);
    assert.equal(removed.code, 0, removed.stderr);
    assert.equal((await done(...list, '--output=name')).stdout, '');
  });
});
