/** Texts of exceptions as Python formats them, and texts that are none. */

export const WRAPPED = 'ExceptionWithTraceback()';

/** A traceback as Python's own module formats it, with that at its end. */
export function traceback(end: string): string {
  return `Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/celery/app/trace.py", line 451, in trace_task
    R = retval = fun(*args, **kwargs)
                 ^^^^^^^^^^^^^^^^^^^^
  File "/srv/shop/tasks.py", line 49, in pay
    raise Declined('KeyError: no')
${end}\n`;
}

export const DURING = '\nDuring handling of the above exception, another exception occurred:\n\n';
export const BECAUSE = '\nThe above exception was the direct cause of the following exception:\n\n';

/** Texts of about that length which expressions that backtrack would take for ever on. */
export function hostileErrors(length: number): {
  readonly exceptions: readonly string[];
  readonly tracebacks: readonly string[];
} {
  const exceptions = [
    `KeyError('${'x'.repeat(length)}')`,
    'a'.repeat(length),
    'a.'.repeat(length / 2),
    `${'a.'.repeat(length / 2)}!`,
    `<${'a.'.repeat(length / 2)}`,
    '<locals>.'.repeat(length / 10),
    `a${' '.repeat(length)}x`,
    ' '.repeat(length),
    `Retry(Retry(...), ${'a.'.repeat(length / 2)}`,
    'Retry(Retry(...), '.repeat(length / 20),
  ];
  const tracebacks = [
    ...exceptions,
    traceback(`KeyError: ${'x'.repeat(length)}`),
    traceback('a: b\n'.repeat(length / 5)),
    '\n'.repeat(length),
    ' \n'.repeat(length / 2),
    '  | '.repeat(length / 4),
    'Traceback (most recent call last):\n'.repeat(length / 30),
    DURING.repeat(length / 60),
    `${traceback('KeyError: 1')}${DURING}`.repeat(length / 400),
    `Traceback (most recent call last):\n${'  File "x.py", line 1, in f\n    f()\n'.repeat(length / 36)}`,
  ];
  return { exceptions, tracebacks };
}
