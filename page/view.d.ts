/** The types of `view.js`, which is compiled from there. */
export * from '../src/view/page.ts';
