/**
 * The seed of property tests: the same in each run, so that a change fails them or does not; `SEED=7` sets another one. Property
 * tests take fast-check from here, so that none is without it.
 */
import fc from 'fast-check';

const DEFAULT = 20_261_122;

export const SEED = Number(process.env['SEED'] ?? DEFAULT);

fc.configureGlobal({ seed: SEED });

export { fc };
