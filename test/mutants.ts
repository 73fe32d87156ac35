/**
 * The table of breaks: rules of counting, limits and asking, each with a change of the source that breaks it, and the tests that
 * notice. `npm run test:mutants` makes them one at a time. It changes nothing itself.
 */

export interface Mutant {
  /** The rule that no longer holds. */
  readonly rule: string;
  /** The file of `src/` that is changed. */
  readonly file: string;
  /** A text that occurs once in the file, and what replaces it. */
  readonly from: string;
  readonly to: string;
  /** The files or folders of `test/` of which at least one test must fail. */
  readonly tests: readonly string[];
}

const CLUSTER = ['cluster'];
const CELERY = ['celery'];
const ASKING = ['broker/control', 'service/inspection'];

export const MUTANTS: readonly Mutant[] = [
  {
    rule: 'an event that was sent twice is counted once',
    file: 'cluster/tasks/task-numbers.ts',
    from: 'if (known === eventPrint) return true;',
    to: 'if (known === eventPrint) return false;',
    tests: CLUSTER,
  },
  {
    rule: '`retried` belongs to the older of two attempts',
    file: 'cluster/tasks/ending-run.ts',
    from: "run.retries > before.retries && outcome !== 'retried'",
    to: "run.retries > before.retries && outcome !== 'failed'",
    tests: CLUSTER,
  },
  {
    rule: 'a run whose process died while it ran is lost',
    file: 'cluster/tasks/standing.ts',
    from: "changes: { expected: 'lost' }",
    to: "changes: { expected: 'gone' }",
    tests: CLUSTER,
  },
  {
    rule: 'a run is not lost if another process has its task',
    file: 'cluster/tasks/standing.ts',
    from: "changes: { expected: 'redelivered' }",
    to: 'changes: {}',
    tests: CLUSTER,
  },
  {
    rule: 'a loss is refuted by what comes later',
    file: 'cluster/tasks/standing.ts',
    from: "changes: { lost: 'gone' }",
    to: 'changes: {}',
    tests: CLUSTER,
  },
  {
    rule: 'a lost start is counted once',
    file: 'cluster/workers/missed-starts.ts',
    from: 'processed - this.#base.processed - seen - this.#lost',
    to: 'processed - this.#base.processed - seen',
    tests: CLUSTER,
  },
  {
    rule: 'one missing heartbeat is no death',
    file: 'cluster/workers/heartbeat-patience.ts',
    from: 'const PATIENCE = 2.5;',
    to: 'const PATIENCE = 1;',
    tests: CLUSTER,
  },
  {
    rule: 'a logical clock that fell is another process',
    file: 'cluster/workers/process-identity.ts',
    from: 'const FALLEN_SHARE = 0.5;',
    to: 'const FALLEN_SHARE = 0;',
    tests: CLUSTER,
  },
  {
    rule: 'the logical clock orders the events of a process',
    file: 'cluster/workers/process-identity.ts',
    from: 'return one.clock - other.clock;',
    to: 'return other.clock - one.clock;',
    tests: CLUSTER,
  },
  {
    rule: 'silence counts only while events could arrive',
    file: 'broker/session/listening-clock.ts',
    from: 'Math.min(Math.max(0, upMs - this.#provenAtMs), PROOFS_APART_MS_MAX)',
    to: 'Math.max(0, upMs - this.#provenAtMs)',
    tests: ['broker/session'],
  },
  {
    rule: 'a list has at most 100 events',
    file: 'celery/body-limits.ts',
    from: "unit: '{event}',\n    max: 100,",
    to: "unit: '{event}',\n    max: 100_000,",
    tests: CELERY,
  },
  {
    rule: 'a large body is nested 32 levels deep at most',
    file: 'celery/body-limits.ts',
    from: 'max: 32,',
    to: 'max: 32_000,',
    tests: CELERY,
  },
  {
    rule: 'a compressed body expands 250 times at most',
    file: 'celery/body-limits.ts',
    from: 'max: 250,',
    to: 'max: 250_000,',
    tests: CELERY,
  },
  {
    rule: 'beyond the cardinality limit there are no new series',
    file: 'otlp/collect/series-table.ts',
    from: 'if (this.free > 0) return this.#begin(key, attributes);',
    to: 'return this.#begin(key, attributes);',
    tests: ['otlp/collect'],
  },
  {
    rule: 'the queue of spans is bounded in bytes',
    file: 'otlp/export/batch-queue.ts',
    from: 'this.#held.items >= itemsMax || this.#held.bytes + bytes > bytesMax',
    to: 'this.#held.items >= itemsMax',
    tests: ['otlp/export'],
  },
  {
    rule: 'a request has at most so many workers',
    file: 'broker/control/request.ts',
    from: 'nodenames.slice(from, from + DESTINATION_MAX)',
    to: 'nodenames.slice(from)',
    tests: ASKING,
  },
  {
    rule: 'a reply with settings of the user may fail',
    file: 'broker/control/commands.ts',
    from: 'stats: { arguments: {} },',
    to: 'stats: { arguments: {}, fixedReplyFrom: ALWAYS },',
    tests: ASKING,
  },
  {
    rule: 'a worker of an unknown version can be harmed',
    file: 'broker/control/asked-commands.ts',
    from: 'canFail(command, version) && isAtLeast(version, FAILED_REPLY_HARMLESS_FROM) !== true',
    to: 'canFail(command, version) && isAtLeast(version, FAILED_REPLY_HARMLESS_FROM) === false',
    tests: ASKING,
  },
  {
    rule: 'a request raises no logical clock of a worker',
    file: 'broker/control/request.ts',
    from: 'headers: { clock: 1, expires: expiresS }',
    to: 'headers: { clock: 1_000_000, expires: expiresS }',
    tests: ASKING,
  },
  {
    rule: 'the envelope of a request has every property that workers read',
    file: 'broker/control/request.ts',
    from: '      priority: 0,\n',
    to: '',
    tests: ASKING,
  },
  {
    rule: 'a binding that would break the replies of all clients is not written',
    file: 'broker/control/request.ts',
    from: 'JSON.stringify(member.split(separator)) !== JSON.stringify(parts)',
    to: 'member.split(separator).length < parts.length',
    tests: ASKING,
  },
  {
    rule: 'a command without a reply is not repeated for ever',
    file: 'service/inspection/asked-workers.ts',
    from: 'const SILENCES_MAX = 3;',
    to: 'const SILENCES_MAX = 3000;',
    tests: ASKING,
  },
  {
    rule: 'the label of an address has no password',
    file: 'broker/redis/url.ts',
    from: "password === '' ? '' : ':***'",
    to: 'password',
    tests: ['broker/broker-url.test.ts'],
  },
];
