import { type ApprovalFacts, approvalText, parseWebhookUrl } from '@svault/shared';
import { requestDigest } from '@svault/shared/request-digest';
import * as z from 'zod';
import { failed, usage } from '../../failure.ts';
import { safeAddress } from '../../http/service-address.ts';
import { jsonIn } from '../../json-in.ts';
import { plainLine } from '../../output/plain-line.ts';

/** Where a request is decided: its page at the webhook. */
export interface RequestAddress {
  readonly webhookUrl: string;
  readonly id: string;
}

const PAGE = /^(.*)\/approvals\/(apr_[\w-]{22})$/;

/** @throws Failure usage for what is not the address of such a page */
export function requestAddress(text: string): RequestAddress {
  const url = safeAddress(text);
  const [, path, id] = PAGE.exec(url?.pathname ?? '') ?? [];
  const webhook = path === undefined ? undefined : parseWebhookUrl(`${url?.origin}${path}`);
  if (webhook?.ok === true && id !== undefined && url?.search === '' && url.hash === '')
    return { webhookUrl: webhook.url, id };
  throw usage(
    `“${plainLine(text).slice(0, 100)}” is not the address of a request at a webhook, https://…/approvals/apr_…: svault approvals show ID has it under open`,
  );
}

const proxySchema = z.strictObject({
  type: z.literal('proxy'),
  proxyId: z.string(),
  method: z.string(),
  url: z.url(),
  mcp: z.string().optional(),
  tool: z.string().optional(),
  digest: z.string(),
});
const factsSchema = z.strictObject({
  v: z.literal(1),
  id: z.string(),
  webhook: z.string(),
  serviceName: z.string(),
  sub: z.string(),
  operation: z.discriminatedUnion('type', [z.strictObject({ type: z.literal('credential') }), proxySchema]),
  askedAt: z.string(),
  expiresAt: z.string(),
});
export type ProxyOperation = z.infer<typeof proxySchema>;

/** What a webhook says of a request, beside the text that is signed (PROTOCOL.md section 5.10). */
const shownSchema = z.object({
  name: z.string().optional(),
  reason: z.string().optional(),
  fields: z.array(z.tuple([z.string(), z.string()])).optional(),
  body: z.base64().optional(),
  bodyBytes: z.int().optional(),
});
export type ShownRequest = z.infer<typeof shownSchema>;

/** Answer of `POST {url}/options`. The challenge in it is not used: it is computed here. */
export const optionsSchema = z.object({ text: z.string(), shown: shownSchema });

/**
 * What a text says that is to be signed: all of it, since anyone who terminates TLS at the webhook may have sent another one.
 *
 * @throws Failure for a text that is not the canonical one of this request
 */
export function signedFacts(text: string, { id, webhookUrl }: RequestAddress): ApprovalFacts {
  const { success, data } = factsSchema.safeParse(jsonIn(text));
  if (!success || approvalText(data) !== text || data.id !== id)
    throw failed(
      `what ${new URL(webhookUrl).host} wants signed is not the text of this request (PROTOCOL.md section 5.10). Nothing was signed.`,
    );
  return data;
}

/** Whether header fields and body are those that the signed digest is of; undefined where the body is not at hand. */
export function isAsSigned(
  { method, digest }: ProxyOperation,
  { fields = [], body = '', bodyBytes }: ShownRequest,
): boolean | undefined {
  if (bodyBytes !== undefined) return undefined;
  // Byte for byte, for MCP too: there the webhook shows the numbers that the digest leaves out as 0.
  const read = requestDigest({ kind: 'http', method, fields, body: Buffer.from(body, 'base64') });
  return 'digest' in read && read.digest === digest;
}
