/** Where a command writes. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Whether stdout shows colours. */
  readonly color: boolean;
}
