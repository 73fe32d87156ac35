/** How a report is printed: for people, and for machines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Report } from '../../src/check/check.ts';
import { reportJson, reportText } from '../../src/check/report.ts';
import { finding } from '../../src/health/symptoms.ts';

const REPORT: Report = {
  services: [
    {
      name: 'shop',
      findings: [
        finding('broker-reached', { broker: 'amqp://b' }),
        finding('task-sent-off', { count: 4 }),
        finding('task-events-unknown', { workers: 'w1@shop' }),
      ],
    },
  ],
  backend: {
    name: 'backend',
    findings: [finding('backend-refuses', { backend: 'b', signal: 'metrics', reason: '401' })],
  },
};

test('each line has its sign, and each symptom its remedy', () => {
  assert.equal(
    reportText(REPORT),
    `shop
  ✓ connected to amqp://b
  ? 4 tasks arrived, and no client sent a task-sent event
      Set task_send_sent_event = True in the programs that send tasks.
  ? no task of w1@shop was seen to start, so it is unknown whether task events are on
      Send a task and check again. If they are off: start them with celery worker -E, or set worker_send_task_events = True; the option enable_events of celery-otel switches them on without a restart.

backend
  ✗ b refuses metrics: 401
      Correct the headers, certificates or endpoint; see exporting (docs/exporting.md#when-something-fails).

Down: 1 down, 2 not known.
`,
  );
});

test('the JSON has the same findings with their codes', () => {
  const { services, backend, grade } = JSON.parse(reportJson(REPORT));
  assert.deepEqual([grade, services[0].grade, backend.grade], ['down', 'fine', 'down']);
  assert.deepEqual(
    [...services[0].findings, ...backend.findings].map(
      ({ code, grade: each, runbook }: { code: string; grade: string; runbook: string }) => [
        code,
        each,
        runbook,
      ],
    ),
    [
      ['broker-reached', 'fine', 'docs/troubleshooting.md#what-the-check-finds'],
      ['task-sent-off', 'unknown', 'docs/troubleshooting.md#what-the-check-finds'],
      ['task-events-unknown', 'unknown', 'docs/troubleshooting.md#what-the-check-finds'],
      ['backend-refuses', 'down', 'docs/alerts.md#celeryotelexportsfail'],
    ],
  );
  assert.equal(services[0].service, 'shop');
});
