/**
 * The format of rules `CONDITION=NAME`: which `service.name` spans have by their task, queue or worker. It compiles no patterns, and
 * matches no span.
 */
import type { ServiceNameRule } from '../../tracer/trace-settings.ts';
import { type Format, format, itemsOf, line } from './formats.ts';
import { quote } from './redaction.ts';

const RULE = line(255);
/** Each name takes a resource of some hundred bytes in every request that has a span of it. */
const RULES_MAX = 50;
/** Only where the next condition begins, since names may contain a plus sign. */
const AND = /\+(?=(?:task|queue|worker):)/u;
const CONDITION = /^(task|queue|worker):(.+)$/u;

const EXPECTS = `rules separated by commas, at most ${RULES_MAX}, each at most 255 bytes, as in task:shop.mail.*=mailer or queue:mail+worker:*@mail-?=mailer`;

export const serviceNames: Format<readonly ServiceNameRule[]> = format(
  EXPECTS,
  (text) => {
    const items = itemsOf(text).filter((item) => item !== '');
    const rules = items.map((item) => ({ item, rule: ruleOf(item) }));
    const wrong = rules.flatMap(({ item, rule }) => (rule === undefined ? [quote(item)] : []));
    if (items.length === 0 || items.length > RULES_MAX) return undefined;
    if (wrong.length > 0) return { ok: false, expected: `${EXPECTS}; not ${wrong.join(', ')}` };
    return { ok: true, value: rules.flatMap(({ rule }) => rule ?? []) };
  },
  { list: { separator: ',', items: RULE.schema } },
);

function ruleOf(item: string): ServiceNameRule | undefined {
  const at = item.lastIndexOf('=');
  const name = item.slice(at + 1).trim();
  if (at < 0 || name === '' || !RULE.read(item).ok) return undefined;
  const texts = item.slice(0, at).split(AND);
  const conditions = new Map(
    texts.flatMap((text) => {
      const [, kind = '', pattern = ''] = CONDITION.exec(text.trim()) ?? [];
      return pattern.trim() === '' ? [] : [[kind, pattern.trim()] as const];
    }),
  );
  if (conditions.size < texts.length) return undefined;
  const [task, queue, worker] = ['task', 'queue', 'worker'].map((kind) => conditions.get(kind));
  return {
    ...(task !== undefined && { task }),
    ...(queue !== undefined && { queue }),
    ...(worker !== undefined && { worker }),
    name,
    label: item,
  };
}
