/** Reads the attributes of a span by the rows of a table, and makes each text bounded and well formed. Pure. */
import type { Attributes, AttributeValue } from './span.ts';
import type { AttributeRow } from './span-attributes.ts';
import type { Surroundings } from './span-facts.ts';

type Rows<Facts> = Readonly<Record<string, AttributeRow<Facts>>>;

/** @returns a function that reads the attributes of a span with that operation from its facts */
export function attributesReader<Facts>(
  rows: Rows<Facts>,
  operation: 'send' | 'process',
  surroundings: Surroundings,
): (facts: Facts) => Attributes {
  const max = surroundings.settings.attributeValueLengthMax;
  const applicable = Object.entries(rows).filter(([, { on }]) => on === operation || on === 'both');
  return (facts) => {
    const attributes: Record<string, AttributeValue> = {};
    for (const [key, row] of applicable) {
      const value = presentValue(row.value(facts, surroundings));
      if (value !== undefined) attributes[key] = typeof value === 'string' ? boundedText(value, max) : value;
    }
    return attributes;
  };
}

/** The value, or undefined if the attribute is left out: an empty text, or a number that is not finite. */
export function presentValue(value: AttributeValue | undefined): AttributeValue | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return value === '' ? undefined : value;
}

/** Cuts the text at `max` UTF-16 units and replaces lone surrogates, which cannot be encoded. The cut may leave one. */
export function boundedText(text: string, max: number | undefined): string {
  const cut = max !== undefined && text.length > max ? text.slice(0, max) : text;
  return cut.isWellFormed() ? cut : cut.toWellFormed();
}
