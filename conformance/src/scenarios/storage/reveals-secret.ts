import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';

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

/** Whether a secret stands in an answer, as it is or in a common encoding. */
export function reveals(answer: Answer, secret: string): boolean {
  return revealsText(text(answer), secret);
}

/** The same of a text. */
export function revealsText(returned: string, secret: string): boolean {
  const bytes = Buffer.from(secret);
  const forms = [
    secret,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
  return forms.some((form) => returned.includes(form));
}
