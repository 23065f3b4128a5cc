/** Of both programs, which are released together. A test compares it with each package.json. */
export const VERSION = '0.1.0';
