/** An export loop in mocked time, with a scripted exporter. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createExportLoop, type ExportLoopOptions } from '../../../src/otlp/export/export-loop.ts';
import { createWarmUp } from '../../../src/otlp/export/warm-up.ts';
import type { ExportResult } from '../../../src/otlp/send/exporter.ts';
import { mockTime } from './mocked-time.ts';
import { ScriptedExporter, SUCCESS } from './scripted-exporter.ts';

/** The last of [0, 1). */
export const ALMOST_1 = 1 - Number.EPSILON;

interface Scripted {
  readonly intervalMs?: number;
  readonly random?: () => number;
  readonly behindMs?: (nowMs: number) => number;
  readonly answer?: (request: string) => ExportResult | Promise<ExportResult>;
}

/** A loop in mocked time, and when which requests were sent. */
export function loopOf(t: TestContext, scripted: Scripted = {}) {
  const { intervalMs = 1000, random = () => ALMOST_1, answer } = scripted;
  const time = mockTime(t, scripted.behindMs);
  const sent: (readonly [atMs: number, request: string])[] = [];
  const exporter = new ScriptedExporter((request) => {
    sent.push([time.nowMs(), request]);
    return answer?.(request) ?? SUCCESS;
  });
  const outcomes: string[] = [];
  const options: ExportLoopOptions<string> = {
    exporter,
    intervalMs,
    onExport: ({ name }, { outcome }) => outcomes.push(`${name} ${outcome}`),
    onDefect: (_, reason) => assert.fail(String(reason)),
    random,
    warmUp: createWarmUp(String),
  };
  const sentAtMs = () => sent.map(([atMs]) => atMs);
  return { ...createExportLoop(options), time, exporter, sent, sentAtMs, outcomes };
}
