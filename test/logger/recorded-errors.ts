/** The failures and retries of all recordings: what Celery 5.2 and 5.7 sent, in each pool. */
import { errorType } from '../../src/celery/error-type.ts';
import { recordedMessages } from '../celery/recorded-messages.ts';

export interface RecordedError {
  readonly type: 'task-failed' | 'task-retried';
  readonly task: string;
  readonly errorType: string;
  readonly traceback: string;
  /** Debian has Celery 5.2. */
  readonly celery: '5.2' | '5.7';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Only those that have a traceback. */
export function recordedErrors(): readonly RecordedError[] {
  const bodies = recordedMessages().map(({ body }): unknown => JSON.parse(Buffer.from(body).toString()));
  const events = bodies.flat().filter(isObject);
  const names = new Map(
    events.map(({ uuid, name }) => [name === undefined ? undefined : uuid, String(name)]),
  );
  return events.flatMap(({ type, uuid, exception, traceback }) => {
    if ((type !== 'task-failed' && type !== 'task-retried') || typeof traceback !== 'string') return [];
    const celery = traceback.includes('dist-packages') ? '5.2' : '5.7';
    return [
      { type, task: names.get(uuid) ?? '', errorType: errorType(exception, traceback), traceback, celery },
    ];
  });
}
