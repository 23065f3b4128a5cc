/** Names that no operation of `/v1/storage` may have a member of (STO-04). */
export const SECRET_NAMES = [
  'accessToken',
  'refreshToken',
  'value',
  'secret',
  'otpauthUri',
  'clientSecret',
  'clientAssertion',
  'privateKey',
  'certificate',
  'minter',
  'secretAccessKey',
  'password',
  'passphrase',
] as const;
