/** What an error code means, and what to do about it; one sentence each, or two. */
export interface Explanation {
  readonly meaning: string;
  readonly remedy: string;
}

/** Who says it; `svault` is this client, by its exit codes. */
export type Refuser = 'service' | 'webhook' | 'oauth' | 'json-rpc' | 'svault';

/** A code as one side says it; another side can have a code of the same name. */
export interface ExplainedCode extends Explanation {
  readonly code: string;
  readonly by: Refuser;
  /** HTTP statuses that it comes with, the usual one first. */
  readonly statuses: readonly number[];
  /** Also a result of an MCP tool, with HTTP 200 and `isError`. */
  readonly mcpTool?: true;
}
