/** The version of this package. A constant, so nothing is read at run time; a test compares it with `package.json`. */
export const VERSION = '0.1.0';
