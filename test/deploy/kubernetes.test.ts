/**
 * The objects for Kubernetes in `deploy/kubernetes.yaml`, and the values of the chart that they are rendered from.
 * `helm.release.ts` runs Helm.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type Document, parseDocument } from 'yaml';
import { optionRows } from '../../src/config/options.ts';
import { VERSION } from '../../src/self/version.ts';
import { ROOT } from '../contract/sources.ts';
import { lint, skipWithoutLinters } from './linters.ts';
import { objectsOf, POD } from './manifest-objects.ts';

const FILE = 'deploy/kubernetes.yaml';
const CHART = 'deploy/helm/celery-otel';
const KUBERNETES_VERSION = '1.34';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const objects = objectsOf(read(FILE));

function deployment(): Document {
  return objects.get('Deployment') ?? assert.fail('there is no Deployment');
}

test('the objects are valid, and nothing in them is unknown', { skip: skipWithoutLinters() }, async () => {
  const { code, stdout, stderr } = await lint(
    'kubernetes-validate',
    '--strict',
    '-k',
    KUBERNETES_VERSION,
    FILE,
  );
  assert.equal(code, 0, stdout + stderr);
});

test('the default values satisfy the schema of the chart', { skip: skipWithoutLinters() }, async () => {
  const { code, stdout, stderr } = await lint(
    ...(['check-jsonschema', '--schemafile', `${CHART}/values.schema.json`, `${CHART}/values.yaml`] as const),
  );
  assert.equal(code, 0, stdout + stderr);
});

test('there is exactly one pod, also during an update', () => {
  assert.equal(deployment().getIn(['spec', 'replicas']), 1);
  assert.equal(deployment().getIn(['spec', 'strategy', 'type']), 'Recreate');
});

test('the pod satisfies the level “restricted”, and has no access to Kubernetes', () => {
  const [pod, container] = [
    [...POD, 'securityContext'],
    [...POD, 'containers', 0, 'securityContext'],
  ];
  for (const [place, value] of [
    [[...pod, 'runAsNonRoot'], true],
    [[...pod, 'seccompProfile', 'type'], 'RuntimeDefault'],
    [[...container, 'allowPrivilegeEscalation'], false],
    [[...container, 'readOnlyRootFilesystem'], true],
    [[...container, 'capabilities', 'drop', 0], 'ALL'],
    [[...POD, 'automountServiceAccountToken'], false],
    [[...POD, 'enableServiceLinks'], false],
  ] as const) {
    assert.equal(deployment().getIn(place), value, place.join('.'));
  }
  assert.equal(objects.get('ServiceAccount')?.get('automountServiceAccountToken'), false);
});

test('all variables are options, and the broker’s address is in a Secret', () => {
  const known = new Set<string>(optionRows().flatMap(([, { env }]) => env));
  const env = deployment().getIn([...POD, 'containers', 0, 'env']);
  const names = [...String(env).matchAll(/"name":"([A-Z_]+)"/gu)].map(([, name = '']) => name);
  assert.ok(names.includes('CELERY_BROKER_URL'));
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    [],
  );
  assert.ok(deployment().hasIn([...POD, 'containers', 0, 'env', 0, 'valueFrom', 'secretKeyRef']));
});

test('the probes ask the port that is open, each for what it means', () => {
  const container = [...POD, 'containers', 0];
  for (const [probe, asked] of [
    ['livenessProbe', '/livez'],
    ['readinessProbe', '/readyz'],
  ] as const) {
    assert.equal(deployment().getIn([...container, probe, 'httpGet', 'path']), asked);
    assert.equal(deployment().getIn([...container, probe, 'httpGet', 'port']), 'status');
  }
  assert.equal(deployment().getIn([...container, 'ports', 0, 'name']), 'status');
  assert.equal(deployment().getIn([...container, 'ports', 0, 'containerPort']), 9909);
});

test('the chart and the image are of this version', () => {
  const chart = parseDocument(read(`${CHART}/Chart.yaml`));
  assert.equal(chart.get('appVersion'), VERSION);
  assert.equal(deployment().getIn([...POD, 'containers', 0, 'image']), `celery-otel:${VERSION}`);
});

test('every value has a place in the schema, and the other way round', () => {
  const schema: { properties: Record<string, unknown> } = JSON.parse(read(`${CHART}/values.schema.json`));
  const values = parseDocument(read(`${CHART}/values.yaml`)).toJS();
  assert.deepEqual(['global', ...Object.keys(values)].sort(), Object.keys(schema.properties).sort());
});
