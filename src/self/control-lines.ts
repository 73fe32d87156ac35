/** The log lines about what workers are asked, and what becomes of it. Pure. */
import { type LogLine, line, quoted } from './line.ts';
import type { SelfEvent, Withheld } from './self-event.ts';

export function workersAsked({
  kind,
  service,
  command,
  outcome,
  reason,
}: SelfEvent<'workers-asked'>): LogLine {
  const key = `${kind} ${service} ${command} ${outcome}`;
  switch (outcome) {
    case 'success':
      return line('debug', `asked the workers of ${service} for ${command}`);
    case 'partial':
      return line('info', `asked the workers of ${service} for ${command}: ${reason}`, key);
    case 'failure':
      return line('warn', `could not ask the workers of ${service} for ${command}: ${reason}`, key);
  }
}

/** Each is said: there is one for a process. A fleet that is all alike has a rate. */
const PER_MINUTE = 10;

export function questionWithheld({
  kind,
  service,
  worker,
  command,
  why,
}: SelfEvent<'question-withheld'>): LogLine {
  const text = `${quoted(worker)} is not asked for ${command}: ${whyWithheld(why)}`;
  return { ...line('warn', text, `${kind} ${service} ${why.kind}`), perMinute: PER_MINUTE };
}

function whyWithheld(why: Withheld): string {
  switch (why.kind) {
    case 'serializer':
      return 'its replies are not JSON: they cannot be read, and on Redis up to Celery 5.6 one that it cannot encode would stop it for good; let task_serializer be json';
    case 'setting':
      return `its setting ${why.path} has a value that JSON cannot encode, and on Redis up to Celery 5.6 such a reply would stop it for good; write it as a list, a number or a text`;
    case 'version':
      return `Celery ${why.version} replies with the arguments of tasks as they are, and would stop for good if it cannot encode them; upgrade it`;
    case 'deaf':
      return 'it went deaf when it was asked, so no worker is asked for them any more, until celery-otel is restarted; find the error in its log first';
  }
}

export function workerDeaf({ service, worker }: SelfEvent<'worker-deaf'>): LogLine {
  return line(
    'warn',
    `${quoted(worker)} of ${service} is deaf: it sends heartbeats, but has stopped listening, and consumes no task. A reply of it failed, whoever had asked for it (Redis, Celery up to 5.6): restart it, or close its connections to Redis`,
  );
}

export function workerHears({ service, worker }: SelfEvent<'worker-hears'>): LogLine {
  return line('info', `${quoted(worker)} of ${service} is not deaf any more, or has left`);
}

export function instancesChanged({ service, count }: SelfEvent<'instances-changed'>): LogLine {
  return count > 1
    ? line(
        'warn',
        `${count} instances of celery-otel export ${service}: each counts every event, so sums over all of them are too high; stop all but one`,
      )
    : line('info', `no other instance of celery-otel exports ${service} any more`);
}
