/**
 * Method, path, method of JSON-RPC, tool, and the arguments `repo` and `number`, null where there is none; or that the
 * upstream serves no such request.
 */
export type Reading = readonly unknown[] | 'refused';

/** A program that reads requests. */
export interface Upstream {
  read(requests: readonly Buffer[]): Promise<readonly Reading[]>;
  stop(): Promise<void>;
}
