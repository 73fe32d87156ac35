/** Captures the diagnostics of the OpenTelemetry API during a test. */
import type { TestContext } from 'node:test';
import { DiagLogLevel, diag } from '@opentelemetry/api';

export type DiagLine = readonly [level: string, ...what: unknown[]];

export function diagLines(t: TestContext): readonly DiagLine[] {
  const lines: DiagLine[] = [];
  const at =
    (level: string) =>
    (...what: unknown[]): void =>
      void lines.push([level, ...what]);
  diag.setLogger(
    { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug'), verbose: at('verbose') },
    { logLevel: DiagLogLevel.ALL, suppressOverrideMessage: true },
  );
  lines.length = 0;
  t.after(() => diag.disable());
  return lines;
}
