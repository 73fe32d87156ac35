/** The rules of dashboards/rules and their tests, as data. It evaluates nothing: promtool does. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../contract/sources.ts';

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A query of a test of promtool, with what it must give. */
interface QueryTest {
  readonly expr: string;
  readonly exp_samples: readonly { readonly labels: string }[];
}

interface Story {
  readonly name: string;
  readonly promql_expr_test: readonly QueryTest[];
}

export const RULE_FILES = ['dashboards/rules/recording.yaml', 'dashboards/rules/alerts.yaml'] as const;
export const STORY_FILES = ['tasks', 'workers', 'bridge', 'days', 'healthy'].map(
  (name) => `test/dashboards/rules/${name}.yaml`,
);

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** All of a file, in its order. */
export function rulesOf(file: (typeof RULE_FILES)[number]): readonly Rule[] {
  const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(read(file));
  return groups.flatMap(({ rules }) => rules);
}

/** An alert, with all that each must have. */
export interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly wait: string;
  readonly severity: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export function alerts(): readonly Alert[] {
  return rulesOf('dashboards/rules/alerts.yaml').map((rule) => ({
    name: rule.alert ?? '',
    expr: rule.expr,
    wait: rule.for ?? 'at once',
    severity: rule.labels?.['severity'] ?? '',
    annotations: rule.annotations ?? {},
  }));
}

/** All queries that the tests of promtool make. */
export function queryTests(): readonly QueryTest[] {
  return STORY_FILES.flatMap((file) => {
    const { tests }: { readonly tests: readonly Story[] } = parse(read(file));
    return tests.flatMap((story) => story.promql_expr_test);
  });
}
