import type { Tools } from '../../check/tools.ts';

/** A record without a secret of each type that the webhook stores (SAV-05). */
export function emptyBodies(tools: Tools): ReadonlyArray<{ readonly tokenType: string }> {
  const bodies = [
    { tokenType: 'PlainText', value: '' },
    { tokenType: 'JWT', accessToken: '' },
    { tokenType: 'Certificate', certificate: '', privateKey: '' },
    { tokenType: 'SSHKey', privateKey: '' },
    { tokenType: 'RawCredential', value: '' },
    ...(tools.claims.has('totp')
      ? [
          { tokenType: 'TOTP', secret: '' },
          { tokenType: 'TOTP', otpauthUri: '' },
        ]
      : []),
  ];
  return bodies.filter(tools.takes);
}
