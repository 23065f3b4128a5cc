import { createSealingKey, type SealingCurve, type SealingKey } from '@svault/shared/sealed';
import { compactDecrypt, decodeProtectedHeader, importJWK } from 'jose';
import { expectThat } from './expect.ts';
import type { Answer } from '../http/client.ts';
import { header, text } from '../http/read-answer.ts';

/** What a sealed answer holds. */
export interface Opened {
  /** The JWE's protected header. */
  readonly header: Readonly<Record<string, unknown>>;
  /** What is inside `{ token }`. */
  readonly token: Readonly<Record<string, unknown>>;
}

/** Keys that records are sealed to. */
export function sealingKeys(): readonly [SealingKey, SealingKey, SealingKey] {
  return [createSealingKey(), createSealingKey(), createSealingKey()];
}

/** The form of a coordinate: base64url of all its bytes, leading zeros too (RFC 7518 section 6.2.1.2). */
export const COORDINATE: Readonly<Record<SealingCurve, RegExp>> = {
  'P-256': /^[A-Za-z0-9_-]{43}$/,
  'P-384': /^[A-Za-z0-9_-]{64}$/,
  X25519: /^[A-Za-z0-9_-]{43}$/,
};

/**
 * Opens a sealed delivery (protocol section 5.4): 200, `application/jose`, a compact JWE for this key.
 * @throws CheckFailed
 */
export async function expectSealed(answer: Answer, key: SealingKey): Promise<Opened> {
  expectThat(answer.status === 200, answer, '200 with a compact JWE');
  const type = header(answer, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  expectThat(type === 'application/jose', answer, 'Content-Type: application/jose');
  const jwe = text(answer).trim();
  expectThat(jwe.split('.').length === 5, answer, 'a compact JWE: five parts with full stops between them');
  const opened = await open(jwe, key);
  expectThat(opened !== undefined, answer, 'a JWE that the private key of the recipient opens');
  const token = tokenIn(opened.plaintext);
  expectThat(token !== undefined, answer, 'the JSON { token: { … } } inside the JWE');
  return { header: opened.header, token };
}

/** Whether the JWE in an answer can be opened with a key. */
export async function opensWith(answer: Answer, key: SealingKey): Promise<boolean> {
  return (await open(text(answer).trim(), key)) !== undefined;
}

async function open(
  jwe: string,
  { privateJwk }: SealingKey,
): Promise<{ readonly header: Opened['header']; readonly plaintext: Uint8Array } | undefined> {
  try {
    const { plaintext } = await compactDecrypt(jwe, await importJWK({ ...privateJwk.reveal() }, 'ECDH-ES'));
    return { header: { ...decodeProtectedHeader(jwe) }, plaintext };
  } catch {
    return undefined;
  }
}

function tokenIn(plaintext: Uint8Array): Opened['token'] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(plaintext).toString('utf8'));
    const token = (value as { readonly token?: unknown } | null)?.token;
    return typeof token === 'object' && token !== null ? (token as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
