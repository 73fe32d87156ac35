/** Reads queries with the parser of Prometheus’ own editor: selectors, labels, functions. It evaluates nothing. */
import { parser } from '@prometheus-io/lezer-promql';

/** What Prometheus gets of Grafana’s variables; a variable in a selector matches everything. */
const RANGES: Readonly<Record<string, string>> = { $__rate_interval: '1m', $__range: '5m' };

export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** The innermost function that it is an argument of, such as `rate`; without one, undefined. */
  readonly within: string | undefined;
}

export interface ParsedQuery {
  readonly selectors: readonly Selector[];
  /** The labels that each aggregation keeps; none for one without `by`. */
  readonly kept: readonly (readonly string[])[];
  /** All labels that are named in clauses. */
  readonly named: readonly string[];
}

type Node = ReturnType<typeof parser.parse>['topNode'];

/** With the variables filled in. */
export function filledIn(expr: string, ranges = RANGES): string {
  return expr
    .replaceAll(/\$__\w+/gu, (name) => ranges[name] ?? name)
    .replaceAll(/\$(?:service|environment|queue|task)\b/gu, '.*');
}

/** @throws if it is not PromQL */
export function parseQuery(query: string): ParsedQuery {
  const expr = filledIn(query);
  const text = (node: Node | null): string => (node === null ? '' : expr.slice(node.from, node.to));
  const selectors: Selector[] = [];
  const kept: string[][] = [];
  const named: string[] = [];
  parser.parse(expr).iterate({
    enter({ node, type }) {
      if (type.isError) throw new Error(`not PromQL at ${expr.slice(node.from)}: ${expr}`);
      if (node.name === 'VectorSelector') {
        const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
        selectors.push({
          metric: text(node.getChild('Identifier')),
          matchers: matchers.map((one) => ({
            label: text(one.getChild('LabelName')),
            operator: text(one.getChild('MatchOp')),
            value: text(one.getChild('StringLiteral')).slice(1, -1),
          })),
          within: functionAround(node, text),
        });
      }
      if (node.name === 'GroupingLabels') named.push(...labelsIn(node, text));
      if (node.name !== 'AggregateExpr' || isChoice(node)) return;
      const labels = node.getChild('AggregateModifier')?.getChild('GroupingLabels');
      kept.push(labels == null ? [] : labelsIn(labels, text));
    },
  });
  return { selectors, kept, named };
}

function labelsIn(node: Node, text: (node: Node) => string): string[] {
  return node.getChildren('LabelName').map(text);
}

/** `topk` and `bottomk` keep all labels. */
function isChoice(aggregate: Node): boolean {
  const operation = aggregate.getChild('AggregateOp');
  return operation?.getChild('Topk') != null || operation?.getChild('Bottomk') != null;
}

function functionAround(node: Node, text: (node: Node | null) => string): string | undefined {
  for (let around = node.parent; around !== null; around = around.parent) {
    if (around.name === 'FunctionCall') return text(around.getChild('FunctionIdentifier'));
    if (around.name === 'AggregateExpr' || around.name === 'BinaryExpr') return undefined;
  }
  return undefined;
}
