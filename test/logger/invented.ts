/** Makes texts that look like tokens. None was ever valid, and each is the same in every run. */

/** So many characters of the alphabet, always the same ones. */
export function some(count: number, alphabet = 'aZ3kQ9xW7bT1mR5c'): string {
  return Array.from({ length: count }, (_, index) => alphabet[(index * 7) % alphabet.length]).join('');
}

export const hex = (count: number): string => some(count, '3a9f07c5e1b8d264');
export const upper = (count: number): string => some(count, 'Q7ZK2MXA5TWB6RCD');
