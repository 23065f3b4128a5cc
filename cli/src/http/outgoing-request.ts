/** A request that a command sends. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** The whole value of `Authorization`; shown nowhere. */
  readonly authorization?: string | undefined;
  /** To be sent as JSON. */
  readonly body?: object | undefined;
  /** Members of the body whose values are shown nowhere; true: none of its values is. */
  readonly secretMembers?: readonly string[] | true | undefined;
}

/** What came back, whole. */
export interface IncomingAnswer {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** What `text` was read from, for whom it matters that it is UTF-8. */
  readonly bytes: Uint8Array;
}
