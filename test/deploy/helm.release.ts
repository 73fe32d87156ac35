/**
 * The chart, rendered by a real Helm: what it makes of its values is valid, secrets stay in Secrets, and values that it
 * does not know are refused. No cluster is needed.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ROOT } from '../contract/sources.ts';
import { helm, skipWithoutHelm } from './go-programs.ts';
import { lint } from './linters.ts';
import { objectsOf, POD } from './manifest-objects.ts';
import { plainManifest } from './plain-manifest.ts';

const KUBERNETES_VERSIONS = ['1.25', '1.34', '1.37'];
const CHART = 'deploy/helm/celery-otel';
const PLAIN_FILE = path.join(ROOT, 'deploy/kubernetes.yaml');
const CONTAINER = [...POD, 'containers', 0] as const;

/** Everything that can be switched on. */
const ALL = {
  brokerUrl: { existingSecret: 'broker', key: 'address' },
  otlpHeaders: { existingSecret: 'vendor', key: 'otlp-headers' },
  brokerPassword: { existingSecret: 'broker', key: 'password' },
  extraCa: { existingConfigMap: 'company-ca', key: 'company.pem' },
  extraEnv: [{ name: 'CELERY_OTEL_WORKER_TIMEOUT', value: '60' }],
  extraEnvFrom: [{ secretRef: { name: 'more' } }],
  image: { repository: 'registry.example.com/celery-otel', digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  service: { enabled: true, annotations: { note: 'probes' } },
  networkPolicy: {
    enabled: true,
    ingressFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    extraEgress: [{ ports: [{ port: 15671, protocol: 'TCP' }] }],
  },
  serviceAccount: { name: 'celery', annotations: { role: 'none' } },
  commonLabels: { team: 'shop' },
  commonAnnotations: { owner: 'shop' },
  podLabels: { tier: 'monitoring' },
  podAnnotations: { 'example.com/scrape': 'no' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [{ key: 'spot', operator: 'DoesNotExist' }] } },
      ],
    },
  },
  tolerations: [{ key: 'infra', operator: 'Exists' }],
  priorityClassName: 'high',
  extraVolumes: [{ name: 'certificates', secret: { secretName: 'client' } }],
  extraVolumeMounts: [{ name: 'certificates', mountPath: '/run/certificates', readOnly: true }],
};
const CONFIG = `celery:\n  services:\n    shop:\n      broker_url: \${CELERY_BROKER_URL}\n`;

describe('the chart', { skip: skipWithoutHelm() }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-chart-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  async function render(values: object, ...more: readonly string[]) {
    const file = path.join(folder, 'values.yaml');
    writeFileSync(file, JSON.stringify(values));
    const ended = await helm('template', 'celery-otel', CHART, '--values', file, ...more);
    return { ...ended, objects: objectsOf(ended.code === 0 ? ended.stdout : '') };
  }

  test('Helm has no remark', async () => {
    const { code, stdout, stderr } = await helm('lint', '--strict', CHART);
    assert.equal(code, 0, stdout + stderr);
  });

  test('deploy/kubernetes.yaml is what it renders by default', async () => {
    const { code, stdout, stderr } = await render({});
    assert.equal(code, 0, stderr);
    if (process.env['UPDATE'] === '1') writeFileSync(PLAIN_FILE, plainManifest(stdout));
    assert.equal(readFileSync(PLAIN_FILE, 'utf8'), plainManifest(stdout), 'UPDATE=1 npm run test:release');
  });

  for (const [what, values] of [
    ['default values', {}],
    ['everything switched on', ALL],
    ['a configuration file', { ...ALL, config: CONFIG }],
    ['an address as a value', { brokerUrl: { value: 'amqp://user:secret@rabbitmq' } }],
    ['as little as possible', { status: { enabled: false }, serviceAccount: { create: false } }],
  ] as const) {
    test(`with ${what}, its objects are valid`, async () => {
      const { code, stdout, stderr } = await render(values);
      assert.equal(code, 0, stderr);
      const file = path.join(folder, 'rendered.yaml');
      writeFileSync(file, stdout);
      for (const version of KUBERNETES_VERSIONS) {
        const judged = await lint('kubernetes-validate', '--strict', '-k', version, file);
        assert.equal(judged.code, 0, `${version}: ${judged.stdout}${judged.stderr}`);
      }
    });
  }

  test('three values are enough for one service', async () => {
    const { objects } = await render({
      brokerUrl: { existingSecret: 'broker', key: 'address' },
      serviceName: 'shop',
      otlpEndpoint: 'https://otlp.example.com:4317',
    });
    assert.deepEqual([...objects.keys()].sort(), ['Deployment', 'ServiceAccount']);
    const env = String(objects.get('Deployment')?.getIn([...CONTAINER, 'env']));
    assert.match(
      env,
      /"CELERY_BROKER_URL","valueFrom":\{"secretKeyRef":\{"name":"broker","key":"address"\}\}/u,
    );
    assert.match(env, /"OTEL_SERVICE_NAME","value":"shop"/u);
    assert.match(env, /"OTEL_EXPORTER_OTLP_ENDPOINT","value":"https:\/\/otlp\.example\.com:4317"/u);
  });

  test('an address that is given as a value is in a Secret, and nowhere else', async () => {
    const { objects } = await render({ ...ALL, brokerUrl: { value: 'amqp://user:hunter2@rabbitmq' } });
    const withIt = [...objects].filter(([, object]) => String(object).includes('hunter2'));
    assert.deepEqual(
      withIt.map(([kind]) => kind),
      ['Secret'],
    );
  });

  test('a configuration file replaces the values of the one service, and another one is another pod', async () => {
    const one = await render({ config: CONFIG });
    const other = await render({ config: `${CONFIG}# another\n` });
    const sums = [one, other].map(({ objects }) =>
      objects.get('Deployment')?.getIn(['spec', 'template', 'metadata', 'annotations', 'checksum/config']),
    );
    assert.equal(new Set(sums).size, 2);
    const { objects } = other;
    assert.equal(objects.get('ConfigMap')?.getIn(['data', 'celery-otel.yaml']), `${CONFIG}# another\n`);
    const env = String(objects.get('Deployment')?.getIn([...CONTAINER, 'env']));
    assert.match(env, /"OTEL_CONFIG_FILE","value":"\/etc\/celery-otel\/celery-otel\.yaml"/u);
    assert.doesNotMatch(env, /OTEL_SERVICE_NAME|OTLP_ENDPOINT/u);
  });

  test('without a status port there are no probes, and the address of the image is unset', async () => {
    const { objects } = await render({ status: { enabled: false }, service: { enabled: true } });
    const container = objects.get('Deployment')?.getIn([...CONTAINER]);
    assert.doesNotMatch(String(container), /Probe|"ports"/u);
    assert.match(String(container), /"CELERY_OTEL_STATUS_ADDRESS","value":""/u);
    assert.equal(objects.has('Service'), false);
  });

  test('users and groups can be left to the cluster', async () => {
    const { objects } = await render({
      podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
    });
    const context = objects.get('Deployment')?.getIn([...POD, 'securityContext']);
    assert.equal(String(context), '{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}');
  });

  test('names that look like numbers stay texts', async () => {
    const { objects } = await render({
      brokerUrl: { existingSecret: '1', key: '2' },
      otlpHeaders: { existingSecret: '3', key: '4' },
      brokerPassword: { existingSecret: '5', key: '6' },
      extraCa: { existingSecret: '7', key: '8' },
    });
    const texts = String(objects.get('Deployment')?.getIn([...POD]));
    for (const name of ['1', '2', '3', '4', '5', '6', '7', '8'])
      assert.match(texts, new RegExp(`:"${name}"`, 'u'));
    assert.doesNotMatch(texts, /"(?:name|secretName|key|path)":\d/u);
  });

  for (const [what, values] of [
    ['an unknown value', { replicas: 2 }],
    ['an unknown value of a value', { brokerUrl: { secret: 'broker' } }],
    ['a protocol that there is not', { otlpProtocol: 'smtp' }],
    ['an empty name', { serviceName: '' }],
    ['a digest that is none', { image: { digest: 'latest' } }],
    ['a port that is none', { status: { port: 0 } }],
    ['an authority from two places', { extraCa: { existingConfigMap: 'one', existingSecret: 'other' } }],
  ] as const) {
    test(`${what} is refused`, async () => {
      const { code, stderr } = await render(values);
      assert.notEqual(code, 0);
      assert.match(stderr, /values don't meet the specifications of the schema/u);
    });
  }

  test('its notes name the Secret that it waits for', async () => {
    const { code, stdout, stderr } = await helm('install', 'r', CHART, '--dry-run=client', '--hide-secret');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /create secret generic celery-broker --from-literal=url=amqp:/u);
    assert.match(stdout, /logs deployment\/r-celery-otel/u);
    assert.match(stdout, /port-forward deployment\/r-celery-otel 9909$/mu);
  });
});
