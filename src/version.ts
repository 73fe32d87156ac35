/** The version of this package, as a constant so that nothing is read at run time; a test compares it with `package.json`. */
export const VERSION = '0.1.0';
