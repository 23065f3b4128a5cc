/** How long the control plane waits for others. Absent: the default at the place of the call. */
export interface Timeouts {
  /** A list waits for the webhook's metadata of credentials. */
  readonly recordsMs?: number | undefined;
  /** A decision waits for Redis. */
  readonly redisMs?: number | undefined;
  /** A sign-in waits for the identity provider, an authorization request for the client's metadata document. */
  readonly oauthMs?: number | undefined;
}
