/** What a command has to do with the world. */
export interface Io {
  /** Writes to stdout, a line end behind it. */
  out(text: string): void;
  /** Writes to stderr, a line end behind it. */
  err(text: string): void;
  /** All of stdin. */
  input?(): Promise<string>;
  /** Shows where a run is, in place of what it showed before; absent where stderr is no terminal. */
  status?(text: string): void;
  /** Whether stdout may have colours. */
  readonly color?: boolean;
  /** Ends a run early. */
  readonly signal?: AbortSignal;
}

/** No MUST failed · a MUST failed · the suite could not run as it was asked to · interrupted. */
export const EXIT = { ok: 0, fails: 1, usage: 2, interrupted: 130 } as const;

/** A command cannot do what it was asked to: exit 2 with this message, which quotes no secret. */
export class UsageRefused extends Error {
  override readonly name = 'UsageRefused';
}
