/** One error code: when it is sent, what happened, and what to do next. */
export interface ErrorDescription {
  /** HTTP statuses that the code is sent with, the usual one first. */
  readonly statuses: readonly [number, ...number[]];
  /** The text that the caller reads, where it is always the same. */
  readonly message?: string;
  /** What happened; one or two whole sentences, for people. */
  readonly meaning: string;
  /** What to do next; one or two whole sentences, for people. */
  readonly remedy: string;
  /** Also a result of an MCP tool, with HTTP 200 and `isError`. */
  readonly mcpTool?: true;
}

/** An error that has no HTTP response of its own, since it is part of a redirect. */
export type RedirectError = Omit<ErrorDescription, 'statuses'> & { readonly statuses: readonly [] };

/** The usual HTTP status of each code. */
export const statusByCode = <Code extends string>(
  errors: Readonly<Record<Code, ErrorDescription>>,
): Readonly<Record<Code, number>> =>
  Object.fromEntries(
    Object.entries<ErrorDescription>(errors).map(([code, { statuses }]) => [code, statuses[0]]),
  ) as Record<Code, number>;
