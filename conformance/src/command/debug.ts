import {
  fromBase64url,
  parseTime,
  parseWebhookUrl,
  SignatureRefused,
  utf8,
  type HmacKey,
} from '@svault/shared';
import { MessageRefused, parseHttpMessage, type HttpMessage } from '../debug/http-message.ts';
import { signedLines, signedMessage, signFile } from '../debug/sign.ts';
import { VECTOR_SETS, vectors } from '../debug/vectors.ts';
import { examine } from '../debug/verify.ts';
import { onOneLine } from '../redaction/printable.ts';
import { readInput, readTextFile } from './files.ts';
import { EXIT, UsageRefused, type Io } from './io.ts';

/** Flags of `sign` and `verify`. */
export interface DebugFlags {
  readonly secret?: string;
  readonly secretFile?: string;
  readonly keyId: string;
  readonly webhookUrl: string;
  /** RFC 3339, or seconds since 1970. */
  readonly at?: string;
  readonly nonce?: string;
  readonly message?: true;
}

/** Prints vectors. @throws UsageRefused where none is called so */
export function vectorsCommand(name: string | undefined, io: Io): number {
  const found = vectors(name);
  if (found === undefined)
    throw new UsageRefused(`no vector and no set is called ${name ?? ''}; sets: ${VECTOR_SETS.join(', ')}`);
  io.out(found);
  return EXIT.ok;
}

/** Shows the signature of a request in a file. @throws UsageRefused */
export async function signCommand(path: string, flags: DebugFlags, io: Io): Promise<number> {
  const options = optionsOf(flags);
  const request = await readRequest(path, io);
  try {
    const signed = signFile(request, { ...options, nonce: flags.nonce });
    io.out(flags.message ? signedMessage(request, signed) : printed(signedLines(signed)));
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof SignatureRefused || error instanceof RangeError)) throw error;
    throw new UsageRefused(`this cannot be signed: ${error.message}`, { cause: error });
  }
}

/** Verifies a request in a file, step by step. @throws UsageRefused */
export async function verifyCommand(path: string, flags: DebugFlags, io: Io): Promise<number> {
  const options = optionsOf(flags);
  const { refusedBy, lines } = examine(await readRequest(path, io), options);
  io.out(printed(lines));
  return refusedBy === undefined ? EXIT.ok : EXIT.fails;
}

const printed = (lines: readonly string[]): string => lines.map(onOneLine).join('\n');

async function readRequest(path: string, io: Io): Promise<HttpMessage> {
  try {
    return parseHttpMessage(await readInput(path, io));
  } catch (error) {
    if (!(error instanceof MessageRefused)) throw error;
    throw new UsageRefused(`${path}: ${error.message}`, { cause: error });
  }
}

function optionsOf(flags: DebugFlags): { key: HmacKey; webhookUrl: string; nowMs: number } {
  const webhook = parseWebhookUrl(flags.webhookUrl);
  if (!webhook.ok) throw new UsageRefused(`--webhook-url is not one a binding accepts: ${webhook.reason}`);
  return {
    key: { id: flags.keyId, secret: secretOf(flags) },
    webhookUrl: webhook.url,
    nowMs: flags.at === undefined ? Date.now() : timeOf(flags.at),
  };
}

const CODE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Of a binding's key base64url, or hex as in the vectors; of an exchange the code. */
function secretOf({ secret, secretFile }: DebugFlags): Uint8Array {
  if ((secret === undefined) === (secretFile === undefined))
    throw new UsageRefused('give --secret or --secret-file');
  const text = (secret ?? readTextFile(secretFile ?? '')).trim();
  if (CODE.test(text)) return utf8(text);
  const bytes = /^[0-9a-f]{64}$/i.test(text)
    ? Buffer.from(text, 'hex')
    : fromBase64url(text.replace(/=+$/, ''));
  if (bytes?.byteLength !== 32)
    throw new UsageRefused('the secret is base64url or hex of 32 bytes, or a binding code');
  return bytes;
}

function timeOf(text: string): number {
  if (/^\d{1,12}(\.\d{1,3})?$/.test(text)) return Number(text) * 1000;
  const ms = parseTime(text);
  if (ms === undefined)
    throw new UsageRefused('--at is a time such as 2026-01-01T00:00:00Z, or seconds since 1970');
  return ms;
}
