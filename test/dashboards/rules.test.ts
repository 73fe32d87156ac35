/** The rules are ones that Prometheus takes; each alert fires and is silent when it should, and has its section in docs/alerts.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { THRESHOLDS } from '../../src/health/judge.ts';
import { SYMPTOMS } from '../../src/health/symptoms.ts';
import { assertGenerated, markdownTable } from '../contract/generated-block.ts';
import { runHere } from '../deploy/linters.ts';
import { alerts, queryTests, RULE_FILES, STORY_FILES } from './rule-files.ts';

const DOCUMENT = new URL('../../docs/alerts.md', import.meta.url);
/** A story takes a day of minutes, each with all rules. */
const STORIES_LIMIT_MS = 110_000;
const LABEL = /\$labels\.(\w+)/gu;

test('promtool has nothing to say about the rules', async () => {
  const { code, stdout, stderr } = await runHere('promtool', ['check', 'rules', ...RULE_FILES]);
  assert.equal(code, 0, stdout + stderr);
});

for (const file of STORY_FILES) {
  test(`each alert does what ${file} says`, async () => {
    const { code, stdout, stderr } = await runHere('promtool', ['test', 'rules', file], {}, STORIES_LIMIT_MS);
    assert.equal(code, 0, stdout + stderr);
  });
}

test('each alert is tested firing, and silent', () => {
  const queries = queryTests();
  for (const { name } of alerts()) {
    const asked = queries.filter(({ expr }) => expr.includes(`alertname="${name}"`));
    assert.ok(
      asked.some(({ exp_samples }) => exp_samples.length > 0),
      `${name} never fires`,
    );
    // With another series in the same story that does not fire, or at another time.
    assert.ok(
      asked.some(({ exp_samples }) => exp_samples.length === 0),
      `${name} is never silent`,
    );
  }
});

test('each alert says what happened, how severe it is, and where to read on', () => {
  const fired = queryTests().flatMap(({ exp_samples }) => exp_samples.map(({ labels }) => labels));
  for (const { name, severity, annotations } of alerts()) {
    assert.match(severity, /^(?:critical|warning|info)$/u, name);
    assert.deepEqual(Object.keys(annotations), ['summary', 'description', 'runbook_url'], name);
    assert.equal(annotations['runbook_url'], `docs/alerts.md#${name.toLowerCase()}`);
    const labels = fired.find((one) => one.includes(`alertname="${name}"`)) ?? '';
    for (const [, label] of Object.values(annotations).join(' ').matchAll(LABEL))
      assert.match(labels, new RegExp(String.raw`\b${label}="`, 'u'), `${name} has no label ${label}`);
  }
});

test('docs/alerts.md has an overview of all alerts', () => {
  const rows = alerts().map(({ name, severity, wait, expr: _, annotations }) => [
    `[${name}](#${name.toLowerCase()})`,
    severity,
    wait,
    (annotations['summary'] ?? '')
      .replaceAll(/\{\{ if .*?\}\}.*?\{\{ else \}\}(.*?)\{\{ end \}\}/gu, '$1')
      .replaceAll(/\{\{.*?\}\}/gu, '…'),
  ]);
  assertGenerated(DOCUMENT, 'alerts', markdownTable(['alert', 'severity', 'after', 'summary'], rows));
});

/** What no bridge can find: that it is absent itself. */
const ONLY_ALERTS = ['CeleryOtelAbsent'];

test('each alert is a finding of the judge, too, with the same thresholds', () => {
  const known: ReadonlySet<string> = new Set(
    Object.values(SYMPTOMS).flatMap((row) => ('alert' in row ? row.alert : [])),
  );
  const names = alerts().map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    ONLY_ALERTS,
  );
  assert.deepEqual(
    [...known].filter((name) => !names.includes(name)),
    [],
  );
  const { failedShare, failedAtLeast, waitsS, runsS, crashesAtLeast, lagS } = THRESHOLDS;
  const limits = {
    CeleryTaskFailureRatioHigh: [`> ${failedShare}`, `>= ${failedAtLeast}`],
    CeleryTaskWaitLong: [`> ${waitsS}`],
    CeleryTaskRunsTooLong: [`> ${runsS}`],
    CeleryWorkerCrashes: [`> ${crashesAtLeast - 1}`],
    CeleryOtelBehind: [`> ${lagS}`],
  };
  for (const [name, parts] of Object.entries(limits))
    for (const part of parts)
      assert.ok(
        alerts()
          .find((each) => each.name === name)
          ?.expr.includes(part),
        `${name}: ${part}`,
      );
});

test('docs/alerts.md has a section for each alert: what it means, three things to look at, and how to tune it', () => {
  const sections = readFileSync(DOCUMENT, 'utf8').split(/^##+ /mu);
  const written = sections.filter((section) => section.startsWith('Celery'));
  const names = written.map((section) => section.split('\n')[0]);
  assert.deepEqual(
    names.toSorted(),
    alerts()
      .map(({ name }) => name)
      .sort(),
  );
  for (const section of written)
    assert.match(section, /^\w+\n\n\S.+?\n\n1\. .+?\n2\. .+?\n3\. .+?\n\nTo tune: /su);
});
