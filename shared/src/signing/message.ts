/** A key of the binding, for requests and tickets alike (PROTOCOL.md section 3). */
export interface HmacKey {
  /** `keyid` of a request, `kid` of a ticket: 1 to 64 of `[A-Za-z0-9_-]`. */
  readonly id: string;
  /** The decoded 32 bytes of `hmacSecret`; for `keyid="bind"` alone the code's 36 ASCII bytes. */
  readonly secret: Uint8Array;
}

/** Header fields as received: names in any case, in order, repeated ones kept apart. */
export type HeaderPairs = ReadonlyArray<readonly [name: string, value: string]>;

/** What a signature covers. */
export interface SignedMessage {
  /** As sent, case-sensitive. */
  readonly method: string;
  /** Of the webhook's configured address, never of `Host` (see `authorityOf`). */
  readonly authority: string;
  /** As sent, nothing decoded; with the path of the webhook's address, which a proxy may have stripped. */
  readonly path: string;
  /** Empty, or `?…` as sent. */
  readonly query: string;
  readonly headers: HeaderPairs;
  /** Empty if there is none. */
  readonly body: Uint8Array;
}

/** Pairs from Node's flat `rawHeaders` (name, value, name, value, …), the only place where repeated fields show. */
export function headerPairs(rawHeaders: readonly string[]): HeaderPairs {
  const pairs: Array<readonly [string, string]> = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    pairs.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
  return pairs;
}

/** Every value of a field, in order, with outer spaces and tabs removed (PROTOCOL.md section 3). */
export function fieldValues(headers: HeaderPairs, lowerCaseName: string): string[] {
  const values: string[] = [];
  for (const [name, value] of headers) {
    // By its length first: every covered field is looked for among all fields.
    if (name.length !== lowerCaseName.length || name.toLowerCase() !== lowerCaseName) continue;
    values.push(trimField(value));
  }
  return values;
}

/** The values of every field, as {@link fieldValues} returns them, by name in lower case. */
export function fieldsByName(headers: HeaderPairs): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  for (const [received, value] of headers) {
    const name = received.toLowerCase();
    const former = fields.get(name);
    if (former === undefined) fields.set(name, [trimField(value)]);
    else former.push(trimField(value));
  }
  return fields;
}

/** A loop, since a regular expression would backtrack over runs of inner spaces. */
function trimField(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value, start)) start++;
  while (end > start && isBlank(value, end - 1)) end--;
  return value.slice(start, end);
}

function isBlank(value: string, at: number): boolean {
  return value[at] === ' ' || value[at] === '\t';
}
