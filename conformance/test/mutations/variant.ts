/** One way to get an expression wrong. */
export interface Variant {
  /** What is wrong, such as `never` for a condition that never holds. */
  readonly what: string;
  /** The expression in place of the right one. */
  readonly text: string;
}
