/** The version of the package, put in when it is built. */
declare const SVAULT_VERSION: string;

declare module '*.css';

/** A file as text. */
declare module '*?raw' {
  const text: string;
  export default text;
}
