/** How long the control plane waits for calls that it can do without. */
export interface Timeouts {
  /** A list waits for the webhook's metadata of credentials. */
  readonly recordsMs?: number | undefined;
  /** A decision waits for Redis. */
  readonly redisMs?: number | undefined;
}
