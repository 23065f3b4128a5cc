/** The types that `store` includes, unless a webhook says which of them (protocol section 5.2). */
export const STORED_TYPES = ['PlainText', 'JWT', 'Certificate', 'SSHKey', 'RawCredential'] as const;
export type StoredType = (typeof STORED_TYPES)[number];

/** Which types a webhook stores, by its answer to the signed health request. */
export function storedTypes(health: Readonly<Record<string, unknown>> | undefined): ReadonlySet<StoredType> {
  const said: unknown = health?.['tokenTypes'];
  if (!Array.isArray(said)) return new Set(STORED_TYPES);
  const listed: readonly unknown[] = said;
  return new Set(STORED_TYPES.filter((each) => each === 'PlainText' || listed.includes(each)));
}

/** The type of a body where that is one of these; one with a minter is what the minter's capability is for. */
export function typeIn(body: object): StoredType | undefined {
  if ('minter' in body || !('tokenType' in body)) return undefined;
  return STORED_TYPES.find((each) => each === body.tokenType);
}
