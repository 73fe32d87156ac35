/** The log lines about remote control: commands sent to workers, and their results. Pure. */
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
      return line('debug', `sent ${command} to the workers of ${service}`);
    case 'partial':
      return line('info', `sent ${command} to the workers of ${service}: ${reason}`, key);
    case 'failure':
      return line('warn', `could not send ${command} to the workers of ${service}: ${reason}`, key);
  }
}

/** How many lines of one kind are logged per minute: each worker process has its own, but a large fleet must not flood the log. */
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
          `${quoted(worker)} gets no remote control commands: its replies are not JSON and cannot be read, and on Redis up to Celery 5.6 a reply that it cannot encode would stop it permanently; set task_serializer to json`,
          key,
        ),
        perMinute: PER_MINUTE,
      };
    case 'version':
      return line(
        'info',
        `workers of ${service} with Celery ${why.version || 'of an unknown version'} on Redis, such as ${quoted(worker)}, do not get ${what}: a reply that cannot be encoded would stop them permanently. To send it anyway, name it in control_commands; see docs/brokers.md`,
        key,
      );
    case 'unanswered':
      return {
        ...line(
          'warn',
          `${quoted(worker)} did not reply to ${what}, but replied to a later ping: its reply failed, and its log has the error. It does not get ${what} again until it is restarted`,
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
          `${quoted(worker)} went deaf when it received ${what}, so no other worker gets it until celery-otel is restarted; find the error in the worker’s log first`,
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
    `a worker of ${service} that is no longer running left its name in Redis with another separator, ${quoted(member)}: it is ignored; to remove it, run in redis-cli: ${removal}`,
  );
}

export function workerDeaf({ service, worker }: SelfEvent<'worker-deaf'>): LogLine {
  return line(
    'warn',
    `${quoted(worker)} of ${service} is deaf: it sends heartbeats, but has stopped listening and consumes no tasks. One of its replies to remote control failed, whichever client sent the command (Redis, Celery up to 5.6): restart it, or close its connections to Redis`,
  );
}

export function workerRecovered({ service, worker }: SelfEvent<'worker-recovered'>): LogLine {
  return line('info', `${quoted(worker)} of ${service} is no longer deaf, or has left`);
}

export function instancesChanged({ service, count }: SelfEvent<'instances-changed'>): LogLine {
  return count > 1
    ? line(
        'warn',
        `${count} instances of celery-otel export ${service}: each counts every event, so sums over all of them are too high; stop all but one`,
      )
    : line('info', `only this instance of celery-otel still exports ${service}`);
}
