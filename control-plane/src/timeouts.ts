/** How long the control plane waits for what it can do without. */
export interface Timeouts {
  /** Of a list, for the webhook's metadata of credentials. */
  readonly recordsMs?: number | undefined;
  /** Of a decision, for Redis. */
  readonly redisMs?: number | undefined;
}
