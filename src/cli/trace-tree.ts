/**
 * Draws one trace as a tree for a terminal: a line for each run, with its wait and its runtime as a bar. It only makes text; names in it
 * are printable, and bounded.
 */
import { inTreeOrder, type TreeNode } from '../health/tree-order.ts';
import { printable } from '../text/printable.ts';
import type { Span } from '../tracer/span.ts';

/** A run, or a sending without one. */
interface Node extends TreeNode {
  /** When it was sent, if that is known, else when it started, epoch ms. */
  readonly fromMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly name: string;
  readonly outcome: string;
  readonly where: string;
}

export interface TreeSize {
  /** Of the terminal. */
  readonly columns: number;
  /** Lines that are drawn at most. */
  readonly rowsMax: number;
}

const NAME_CHARS_MAX = 60;
const OUTCOME_CHARS_MAX = 70;
const BAR_CHARS_MIN = 12;
const BAR_CHARS_MAX = 40;
/** The other columns of a line: a duration, an outcome, a worker. */
const OTHER_CHARS = 50;
const WAITS = '░';
const RUNS = '█';

/** @param spans those of one trace, in any order */
export function traceTree(spans: readonly Span[], { columns, rowsMax }: TreeSize): string {
  const [first] = spans;
  if (first === undefined) return '';
  const nodes = nodesOf(spans);
  const [fromMs, endMs] = [least(nodes.map((node) => node.fromMs)), most(nodes.map((node) => node.endMs))];
  const rows = rowsOf(nodes);
  const nameWidth = most(rows.map(({ label }) => label.length));
  const barWidth = Math.max(BAR_CHARS_MIN, Math.min(BAR_CHARS_MAX, columns - nameWidth - OTHER_CHARS));
  const scale = barWidth / Math.max(endMs - fromMs, Number.MIN_VALUE);
  const durations = rows.map(({ node }) => duration(node.endMs - node.startMs));
  const durationWidth = most(durations.map((text) => text.length));
  const lines = rows.slice(0, rowsMax).map(({ label, node }, index) => {
    const bar = barOf(node, fromMs, scale, barWidth);
    const time = (durations[index] ?? '').padStart(durationWidth);
    return `${label.padEnd(nameWidth)} ${bar} ${time}  ${node.outcome}${node.where}`.trimEnd();
  });
  const failed = spans.filter(({ error }) => error !== undefined).length;
  const head = `trace ${first.traceId}  ${count(nodes.length, 'task run')}  ${duration(endMs - fromMs)}${failed > 0 ? `  ${failed} failed` : ''}`;
  const more = rows.length > rowsMax ? [`… and ${rows.length - rowsMax} more`] : [];
  return [head, ...lines, ...more].join('\n');
}

/** The span of a sending and that of its run are one node; so is a sending that was not received. */
function nodesOf(spans: readonly Span[]): readonly Node[] {
  const sendings = new Map(
    spans.filter(({ kind }) => kind === 'producer').map((span) => [span.spanId, span]),
  );
  const runs = spans.filter(({ kind }) => kind === 'consumer');
  const received = new Set(runs.map(({ parentSpanId }) => parentSpanId));
  const lone = [...sendings.values()].filter(({ spanId }) => !received.has(spanId));
  return [
    ...runs.map((run): Node => {
      const sending = sendings.get(run.parentSpanId);
      const isFirst = text(run, 'celery.task.retries') === '';
      return {
        ...{ id: run.spanId, parentId: sending?.parentSpanId ?? run.parentSpanId },
        // A retry has not waited since the first sending.
        fromMs: isFirst ? Math.min(sending?.startMs ?? run.startMs, run.startMs) : run.startMs,
        ...{ startMs: run.startMs, endMs: run.endMs, name: nameOf(run) },
        outcome: outcomeOf(run),
        where: whereOf(run),
      };
    }),
    ...lone.map(
      (sending): Node => ({
        ...{ id: sending.spanId, parentId: sending.parentSpanId, fromMs: sending.startMs },
        ...{ startMs: sending.startMs, endMs: sending.endMs, name: nameOf(sending) },
        ...{ outcome: 'sent, no run', where: '' },
      }),
    ),
  ];
}

interface Row {
  readonly label: string;
  readonly node: Node;
}

function rowsOf(nodes: readonly Node[]): readonly Row[] {
  return inTreeOrder(nodes).map(({ node, depth }) => ({
    label: `${depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `}${node.name}`,
    node,
  }));
}

function barOf(
  { fromMs: sentMs, startMs, endMs }: Node,
  fromMs: number,
  scale: number,
  width: number,
): string {
  const at = (ms: number): number => Math.max(0, Math.min(width, Math.round((ms - fromMs) * scale)));
  const begin = Math.min(at(startMs), width - 1);
  const end = Math.max(at(endMs), begin + 1);
  const sent = Math.min(at(sentMs), begin);
  return ' '.repeat(sent) + WAITS.repeat(begin - sent) + RUNS.repeat(end - begin) + ' '.repeat(width - end);
}

function nameOf(span: Span): string {
  return shortened(text(span, 'celery.task.name') || span.name, NAME_CHARS_MAX);
}

function outcomeOf(span: Span): string {
  const outcome = text(span, 'celery.task.outcome');
  const type = text(span, 'error.type');
  const retries = text(span, 'celery.task.retries');
  const what = [type === outcome ? '' : type, span.error?.description ?? ''].filter((part) => part !== '');
  const nth = retries === '' ? '' : `, retry ${retries}`;
  return shortened(`${outcome}${nth}${what.length === 0 ? '' : `: ${what.join(': ')}`}`, OUTCOME_CHARS_MAX);
}

function whereOf(span: Span): string {
  const worker = text(span, 'celery.worker.name');
  return worker === '' ? '' : `  ${shortened(worker, NAME_CHARS_MAX)}`;
}

function text({ attributes, shared }: Span, key: string): string {
  return String(attributes[key] ?? shared[key] ?? '');
}

function shortened(given: string, charsMax: number): string {
  const characters = Array.from(printable(given));
  return characters.length > charsMax
    ? `${characters.slice(0, charsMax - 1).join('')}…`
    : characters.join('');
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Spread arguments would overflow the stack. */
const least = (numbers: readonly number[]): number =>
  numbers.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
const most = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, b), 0);
