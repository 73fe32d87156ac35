/** The log lines about what workers are asked, and what becomes of it. Pure. */
import { type LogLine, line, quoted } from './line.ts';
import type { SelfEvent } from './self-event.ts';

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

/** Each is logged: there is one for a process. A fleet that is all alike has a rate. */
const PER_MINUTE = 10;

export function commandSkipped({
  kind,
  service,
  worker,
  commands,
  why,
}: SelfEvent<'command-skipped'>): LogLine {
  const what = listed(commands);
  const key = `${kind} ${service} ${why.kind}`;
  switch (why.kind) {
    case 'serializer':
      return {
        ...line(
          'warn',
          `${quoted(worker)} is not asked for anything: its replies are not JSON: they cannot be read, and on Redis up to Celery 5.6 one that it cannot encode would stop it for good; let task_serializer be json`,
          key,
        ),
        perMinute: PER_MINUTE,
      };
    case 'version':
      return line(
        'info',
        `workers of ${service} with Celery ${why.version || 'of an unknown version'} on Redis, such as ${quoted(worker)}, are not asked for ${what}: a reply that cannot be encoded would stop them for good. To ask them all the same, name the commands in control_commands; see docs/brokers.md`,
        key,
      );
    case 'unanswered':
      return {
        ...line(
          'warn',
          `${quoted(worker)} did not reply to ${what}, but to a ping since: its reply failed, and its log has the error. It is not asked for ${what} again until it is restarted`,
          key,
        ),
        perMinute: PER_MINUTE,
      };
    case 'over':
      return line('debug', `${quoted(worker)} of ${service} was restarted, or has left`);
    case 'deaf':
      return {
        ...line(
          'warn',
          `${quoted(worker)} went deaf when it was asked for ${what}, so no other worker is asked any more until celery-otel is restarted; find the error in its log first`,
          key,
        ),
        perMinute: PER_MINUTE,
      };
  }
}

function listed(commands: readonly string[]): string {
  return new Intl.ListFormat('en').format(commands);
}

export function nameLeftBehind({ service, member, removal }: SelfEvent<'name-left-behind'>): LogLine {
  return line(
    'warn',
    `a worker of ${service} that is gone left its name in Redis with another separator, ${quoted(member)}: it is left out of account; to remove it, in redis-cli: ${removal}`,
  );
}

export function workerDeaf({ service, worker }: SelfEvent<'worker-deaf'>): LogLine {
  return line(
    'warn',
    `${quoted(worker)} of ${service} is deaf: it sends heartbeats, but has stopped listening, and consumes no task. A reply of it failed, whoever had asked for it (Redis, Celery up to 5.6): restart it, or close its connections to Redis`,
  );
}

export function workerHears({ service, worker }: SelfEvent<'worker-recovered'>): LogLine {
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
