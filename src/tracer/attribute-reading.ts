/** Makes attributes from the rows of a table, each bounded in length and well formed. Pure. */
import type { Attributes, AttributeValue } from './span.ts';
import type { AttributeRow } from './span-attributes.ts';
import type { Surroundings } from './span-facts.ts';

type Rows<Facts> = Readonly<Record<string, AttributeRow<Facts>>>;

/** Reads the attributes that spans of that kind may have. */
export function attributesReader<Facts>(
  rows: Rows<Facts>,
  operation: 'send' | 'process',
  surroundings: Surroundings,
): (facts: Facts) => Attributes {
  const max = surroundings.settings.attributeValueLengthMax;
  const own = Object.entries(rows).filter(([, { on }]) => on === operation || on === 'both');
  return (facts) => {
    const attributes: Record<string, AttributeValue> = {};
    for (const [key, row] of own) {
      const value = presentValue(row.value(facts, surroundings));
      if (value !== undefined) attributes[key] = typeof value === 'string' ? boundedText(value, max) : value;
    }
    return attributes;
  };
}

/** Undefined for what is left out: no text, and what is no number. */
export function presentValue(value: AttributeValue | undefined): AttributeValue | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return value === '' ? undefined : value;
}

/** A lone surrogate, given or left by the cut, cannot be encoded. */
export function boundedText(text: string, max: number | undefined): string {
  const cut = max !== undefined && text.length > max ? text.slice(0, max) : text;
  return cut.isWellFormed() ? cut : cut.toWellFormed();
}
