/** docs/queries.md answers twenty questions, rightly where the answer is easy to get wrong. promtool evaluates the queries. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { runHere } from '../deploy/linters.ts';
import { questions } from './documented-queries.ts';

const HOURS = 2;
const WINDOW_MIN = 60;

/** Series → its growth a minute. */
type Growths = Readonly<Record<string, number>>;

interface Story {
  readonly title: string;
  readonly query?: number;
  readonly growths: Growths;
  /** Series that stay as they are. */
  readonly constant?: Growths;
  /** Labels → value. */
  readonly answer: Readonly<Record<string, number>>;
}

const ended = (outcome: string, task: string): string =>
  `celery_task_${outcome}_total{job="shop", celery_task_name="${task}"${outcome === 'failed' ? ', error_type="KeyError"' : ''}}`;
const ofTask = (task: string): string => `{celery_task_name="${task}", job="shop"}`;
const MAIL = '{celery_queue_name="mail", job="shop"}';

const STORIES: readonly Story[] = [
  {
    title: 'Which part of the runs of each task fails?',
    growths: {
      [ended('failed', 'always')]: 2,
      [ended('succeeded', 'never')]: 2,
      [ended('failed', 'often')]: 1,
      [ended('succeeded', 'often')]: 3,
      [ended('retried', 'often')]: 5,
      [ended('retried', 'only_retried')]: 5,
    },
    answer: { [ofTask('always')]: 1, [ofTask('never')]: 0, [ofTask('often')]: 0.25 },
  },
  {
    title: 'Which part of the runs ends in a retry?',
    growths: { [ended('retried', 'often')]: 1, [ended('started', 'often')]: 4, [ended('started', 'x')]: 4 },
    answer: { [ofTask('often')]: 0.25 },
  },
  {
    title: 'Are tasks delivered more than once?',
    growths: { [ended('received', 'twice')]: 2, [ended('sent', 'twice')]: 1 },
    answer: { [ofTask('twice')]: 24 * WINDOW_MIN },
  },
  {
    title: 'How long do tasks run?',
    growths: {
      'celery_task_runtime_seconds_bucket{job="shop", celery_task_name="pay", le="1"}': 60,
      'celery_task_runtime_seconds_bucket{job="shop", celery_task_name="pay", le="+Inf"}': 60,
      'celery_task_runtime_seconds_bucket{job="shop", celery_task_name="pay", error_type="KeyError", le="1"}': 0,
      'celery_task_runtime_seconds_bucket{job="shop", celery_task_name="pay", error_type="KeyError", le="+Inf"}': 600,
    },
    answer: { [ofTask('pay')]: 0.95 },
  },
  {
    title: 'How many processes are missing?',
    // Two tasks a second that take three seconds each, on four processes.
    growths: {
      'celery_task_sent_total{job="shop", celery_queue_name="mail"}': 120,
      'celery_task_runtime_seconds_sum{job="shop", celery_queue_name="mail"}': 180,
      'celery_task_runtime_seconds_count{job="shop", celery_queue_name="mail"}': 60,
    },
    constant: { 'celery_queue_processes{job="shop", celery_queue_name="mail"}': 4 },
    answer: { [MAIL]: 2 },
  },
  {
    title: 'How long would a task wait that is sent now?',
    growths: { 'celery_task_received_total{job="shop", celery_queue_name="mail"}': 60 },
    constant: { 'celery_queue_length{job="shop", celery_queue_name="mail"}': 30 },
    answer: { [MAIL]: 30 },
  },
];

function storyTest({ title, query = 0, growths, constant = {}, answer }: Story): object {
  const expr = questions().find((question) => question.title === title)?.queries[query];
  assert.ok(expr !== undefined, `nobody asks: ${title}`);
  const hours = expr.includes('[1d]') ? 24 : HOURS;
  const minutes = hours * WINDOW_MIN;
  return {
    name: title,
    interval: '1m',
    input_series: [
      ...Object.entries(growths).map(([series, each]) => ({ series, values: `0+${each}x${minutes}` })),
      ...Object.entries(constant).map(([series, value]) => ({ series, values: `${value}x${minutes}` })),
    ],
    promql_expr_test: [
      {
        expr,
        eval_time: `${minutes}m`,
        exp_samples: Object.entries(answer).map(([labels, value]) => ({ labels, value })),
      },
    ],
  };
}

async function promtoolSays(
  stories: readonly Story[],
): Promise<{ readonly code: unknown; readonly said: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'questions-'));
  try {
    const file = path.join(folder, 'stories.yaml');
    writeFileSync(file, stringify({ evaluation_interval: '1m', tests: stories.map(storyTest) }));
    const { code, stdout, stderr } = await runHere('promtool', ['test', 'rules', file]);
    return { code, said: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('there are twenty questions, each with a query and how to read its answer', () => {
  const all = questions();
  assert.equal(all.length, 20);
  for (const { title, queries, reading } of all) {
    assert.match(title, /^[A-Z].*\?$/u);
    assert.ok(queries.length > 0, title);
    assert.match(reading, /\.$/u, title);
    assert.doesNotMatch(reading, /```/u, title);
  }
});

test('the answers are right', async () => {
  const { code, said } = await promtoolSays(STORIES);
  assert.equal(code, 0, said);
});

test('a wrong answer would be found', async () => {
  const [story = assert.fail()] = STORIES;
  const { code, said } = await promtoolSays([
    { ...story, answer: { ...story.answer, [ofTask('always')]: 0.5 } },
  ]);
  assert.notEqual(code, 0);
  assert.match(said, /always/u);
});
