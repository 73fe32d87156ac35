/**
 * Draws one trace as a tree for a terminal: a line for each run, with its wait and its runtime as a bar. It only makes text; names in it
 * are printable, and bounded.
 */
import { ERRORS } from '../config/format/signal-formats.ts';
import type { TreeRow } from '../health/details.ts';
import { inTreeOrder, type TreeNode } from '../health/tree-order.ts';
import { printable } from '../text/printable.ts';
import type { FoundTree } from '../top/reading.ts';
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

/** A line of the tree. */
interface Row {
  readonly depth: number;
  readonly node: Node;
}

/** @param spans those of one trace, in any order */
export function traceTree(spans: readonly Span[], size: TreeSize): string {
  const [first] = spans;
  if (first === undefined) return '';
  const nodes = nodesOf(spans);
  const failed = spans.filter(({ error }) => error !== undefined).length;
  return drawn(`trace ${first.traceId}`, inTreeOrder(nodes), { failed, more: 0 }, size);
}

/** The workflow of a task, as a running instance remembers it. */
export function rememberedTree(
  { tree, tree_total: total }: FoundTree,
  title: string,
  size: TreeSize,
): string {
  const rows = tree.map((row): Row => ({ depth: row.depth, node: nodeOfRow(row) }));
  const failed = tree.filter(({ outcome }) => ERRORS.includes(outcome)).length;
  return drawn(title, rows, { failed, more: Math.max(0, total - rows.length) }, size);
}

function drawn(
  title: string,
  rows: readonly Row[],
  { failed, more }: { readonly failed: number; readonly more: number },
  { columns, rowsMax }: TreeSize,
): string {
  const nodes = rows.map(({ node }) => node);
  const [fromMs, endMs] = [least(nodes.map((node) => node.fromMs)), most(nodes.map((node) => node.endMs))];
  const labels = rows.map(labelOf);
  const nameWidth = most(labels.map((label) => label.length));
  const barWidth = Math.max(BAR_CHARS_MIN, Math.min(BAR_CHARS_MAX, columns - nameWidth - OTHER_CHARS));
  const scale = barWidth / Math.max(endMs - fromMs, Number.MIN_VALUE);
  const durations = nodes.map((node) => duration(node.endMs - node.startMs));
  const durationWidth = most(durations.map((text) => text.length));
  const lines = nodes.slice(0, rowsMax).map((node, index) => {
    const bar = barOf(node, fromMs, scale, barWidth);
    const time = (durations[index] ?? '').padStart(durationWidth);
    return `${(labels[index] ?? '').padEnd(nameWidth)} ${bar} ${time}  ${node.outcome}${node.where}`.trimEnd();
  });
  const head = `${title}  ${count(nodes.length, 'task run')}  ${duration(endMs - fromMs)}${failed > 0 ? `  ${failed} failed` : ''}`;
  const left = more + Math.max(0, rows.length - rowsMax);
  return [head, ...lines, ...(left > 0 ? [`… and ${left} more`] : [])].join('\n');
}

/** A remembered run has no span: what is unknown of its times counts as an instant. */
function nodeOfRow({
  id,
  task,
  worker,
  outcome,
  error_type: type,
  retries,
  from,
  started,
  ended,
}: TreeRow): Node {
  const [sentMs, startedMs, endedMs] = [from, started, ended].map(millisecondsOf);
  const startMs = startedMs ?? sentMs ?? endedMs ?? 0;
  const nth = retries === 0 ? '' : `, retry ${retries}`;
  return {
    ...{
      id,
      parentId: '',
      fromMs: Math.min(sentMs ?? startMs, startMs),
      startMs,
      endMs: Math.max(endedMs ?? startMs, startMs),
    },
    name: shortened(task, NAME_CHARS_MAX),
    outcome: shortened(
      `${outcome}${nth}${type === '' || type === outcome ? '' : `: ${type}`}`,
      OUTCOME_CHARS_MAX,
    ),
    where: worker === '' ? '' : `  ${shortened(worker, NAME_CHARS_MAX)}`,
  };
}

/** The span of a sending and that of its run are one node; so is a sending that was not received. */
function nodesOf(spans: readonly Span[]): readonly Node[] {
  const sendings = new Map(
    spans.filter(({ kind }) => kind === 'producer').map((span) => [span.spanId, span]),
  );
  const runs = spans.filter(({ kind }) => kind === 'consumer');
  const received = new Set(runs.map(({ parentSpanId }) => parentSpanId));
  // A retry is a run of its own, so its sending is none.
  const lone = [...sendings.values()].filter(
    (sending) => !received.has(sending.spanId) && text(sending, 'celery.task.retries') === '',
  );
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

/** Epoch ms; undefined if the text is no time. */
function millisecondsOf(time: string | null): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isFinite(ms) ? ms : undefined;
}

function labelOf({ node, depth }: Row): string {
  return `${depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `}${node.name}`;
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
