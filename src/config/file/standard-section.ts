/**
 * Checks the standard's part of a configuration file against its table: unknown keys, unsupported keys, and the value of
 * each key by itself. Contradictions between keys are found elsewhere.
 */
import type { FileValue } from './file-value.ts';
import { STANDARD, standardKeys, type Verdict } from './standard-table.ts';

/** Our own section, next to those of the standard. */
const OURS = 'celery';

/** Reports all mistakes. @param root the whole file */
export function checkStandard(root: FileValue): void {
  if (root.isNull || !root.expectMap('sections')) {
    if (root.isNull) root.complain('file_format: "1.0", and the sections meter_provider and celery');
    return;
  }
  checkKeys(root, '', [OURS]);
}

function checkKeys(map: FileValue, row: string, others: readonly string[] = []): void {
  const known = standardKeys(row);
  for (const [key, value] of map.entries()) {
    const verdict = known.get(key);
    if (verdict !== undefined) checkValue(value, rowOf(row, key), verdict);
    else if (!others.includes(key))
      value.complainOfKey([...known.keys(), ...others], [...honoured(known), ...others]);
  }
  for (const [key, verdict] of known) {
    const required = verdict.kind === 'refused' ? undefined : verdict.required;
    const value = map.get(key);
    if (required !== undefined && (value === undefined || (value.isNull && verdict.kind !== 'any'))) {
      map.complainOfMissing(key, required);
    }
  }
}

function checkValue(value: FileValue, row: string, verdict: Verdict): void {
  switch (verdict.kind) {
    case 'any':
      break;
    case 'refused':
      value.complain(`no such key: ${verdict.reason}`);
      break;
    case 'scalar':
      if (!value.isNull) value.read(verdict.format);
      break;
    case 'list':
      checkList(value, row, verdict.only);
      break;
    case 'map':
      checkMap(value, row, verdict.one === true);
      break;
    default:
      verdict satisfies never;
  }
}

function checkList(list: FileValue, row: string, only: string | undefined): void {
  const items = STANDARD[`${row}[]`];
  if (items === undefined) throw new Error(`the list ${row} has no row for its items`);
  if (list.isNull || !list.expectList(items.kind === 'map' ? 'maps' : 'values')) return;
  for (const [index, item] of list.items().entries()) {
    if (only !== undefined && index > 0) item.complain(only);
    else checkValue(item, `${row}[]`, items);
  }
}

function checkMap(map: FileValue, row: string, one: boolean): void {
  const known = standardKeys(row);
  if (!map.expectMap('settings')) return;
  if (one && map.entries().length !== 1) {
    const names = honoured(known);
    map.complain(names.length === 1 ? `only ${names.join()}` : `exactly one of ${names.join(', ')}`);
  }
  checkKeys(map, row);
}

function honoured(known: ReadonlyMap<string, Verdict>): readonly string[] {
  return [...known].filter(([, { kind }]) => kind !== 'refused').map(([name]) => name);
}

function rowOf(row: string, key: string): string {
  return row === '' ? key : `${row}.${key}`;
}
