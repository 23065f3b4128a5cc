/** The version of the package, put in when it is built. */
declare const SVAULT_VERSION: string;

declare module '*.css';
