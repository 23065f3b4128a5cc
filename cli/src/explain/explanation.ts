/** What an error code means, and what to do about it; one sentence each. */
export interface Explanation {
  readonly meaning: string;
  readonly remedy: string;
}
