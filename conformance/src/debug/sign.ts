import { authorityOf, signatureBase, signRequest, type HeaderPairs, type HmacKey } from '@svault/shared';
import { baseLines, indent } from '../report/failure-text.ts';
import type { HttpMessage } from './http-message.ts';
import { receivedAt } from './received-at.ts';

/** A request that was signed as the service signs. */
export interface SignedFile {
  readonly base: string;
  /** Those of the file, and those of the signature. */
  readonly headers: HeaderPairs;
  /** The part of these that the signature added. */
  readonly added: HeaderPairs;
}

const REPLACED = new Set(['content-digest', 'signature-input', 'signature']);

/**
 * Signs a request as protocol section 3 asks: headers of the signature that are there already are made anew, the others
 * stay; `sv-ticket` is covered.
 * @param options.webhookUrl one that `parseWebhookUrl` takes
 * @throws RangeError for a key that is none, SignatureRefused where a value cannot stand in a base
 */
export function signFile(
  request: HttpMessage,
  options: {
    readonly key: HmacKey;
    readonly webhookUrl: string;
    readonly nowMs: number;
    readonly nonce?: string | undefined;
  },
): SignedFile {
  const { key, webhookUrl, nowMs, nonce } = options;
  const { message } = receivedAt(webhookUrl, request);
  const kept = request.headers.filter(([name]) => !REPLACED.has(name.toLowerCase()));
  const valueOf = (name: string): string | undefined =>
    kept.find(([each]) => each.toLowerCase() === name)?.[1];
  const [contentType, ticket] = [valueOf('content-type'), valueOf('sv-ticket')];
  const made = signRequest({
    method: message.method,
    authority: authorityOf(webhookUrl),
    path: message.path,
    body: message.body,
    key,
    nowMs,
    ...(contentType !== undefined && { contentType }),
    ...(ticket !== undefined && { headers: { 'sv-ticket': ticket } }),
    ...(nonce !== undefined && { nonce }),
  });
  const added = Object.entries(made).filter(([name]) => valueOf(name) === undefined);
  const headers = [...kept, ...added];
  const params = (made['signature-input'] ?? '').slice('sv='.length);
  const covered = [...(/^\(([^)]*)\)/.exec(params)?.[1] ?? '').matchAll(/"([^"]+)"/g)].map(
    ([, name = '']) => name,
  );
  return { base: signatureBase({ ...message, query: '', headers }, covered, params), headers, added };
}

/** For a reader: the base with its line ends, and what to add to the request. */
export function signedLines({ base, added }: SignedFile): readonly string[] {
  return [
    ...baseLines(base),
    'headers to add:',
    ...indent(added.map(([name, value]) => `${name}: ${value}`)),
  ];
}

/** The whole request, with CRLF after each line of its head. */
export function signedMessage(request: HttpMessage, { headers }: SignedFile): string {
  const head = [
    `${request.method} ${request.target} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  return `${head.join('\r\n')}\r\n\r\n${Buffer.from(request.body).toString('utf8')}`;
}
