/** How long the service waits for what it can do without. */
export interface Timeouts {
  /** A list, for what the webhook tells of its records. */
  readonly recordsMs?: number | undefined;
  /** A decision, for Redis. */
  readonly redisMs?: number | undefined;
}
