/** As `@svault/shared/schemas` has them, which takes longer to load than `--help` may; a test compares the two. */
export const TOKEN_TYPES = ['JWT', 'PlainText', 'Certificate', 'SSHKey', 'RawCredential', 'TOTP'] as const;
export const DELIVERIES = ['any', 'sealed', 'proxy-only'] as const;
