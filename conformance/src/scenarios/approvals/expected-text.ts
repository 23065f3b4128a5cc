import { approvalText, type ApprovalOperation } from '@svault/shared';
import { requestDigest } from '@svault/shared/request-digest';
import { decisionOptions } from '../../approver/approver.ts';
import { expectThat } from '../../check/expect.ts';
import { NotTestable } from '../../check/outcome.ts';
import type { Tools } from '../../check/tools.ts';
import { asked, type ApprovableCall, type ApprovedProxy, type Asking } from './approved-record.ts';

/** By the rules of the protocol. @throws NotTestable for a message with two readings, of which the suite sends none */
export function digestOf(
  kind: 'http' | 'mcp',
  { method = 'POST', headers = [], body = '' }: ApprovableCall,
): Exclude<ReturnType<typeof requestDigest>, { readonly ambiguity: unknown }> {
  const read = requestDigest({ kind, method, fields: headers, body: Buffer.from(body) });
  if ('ambiguity' in read) throw new NotTestable(`the suite's own message is ambiguous: ${read.ambiguity}`);
  return read;
}

/** `operation` of the text. @param call with the fields of the templates */
export function proxyOperation(
  { proxyId, place }: ApprovedProxy,
  kind: 'http' | 'mcp',
  call: ApprovableCall,
  rest: string,
): ApprovalOperation {
  const { digest, mcp, tool } = digestOf(kind, call);
  const { method = 'POST' } = call;
  return { type: 'proxy', proxyId, method, url: place.url + rest, mcp, tool, digest };
}

/** Asks, and expects the text that is signed. @throws CheckFailed */
export async function expectText(tools: Tools, asking: Asking, operation: ApprovalOperation): Promise<void> {
  const { id, url, askedAt, expiresAt } = await asked(tools, asking);
  const { answer, text } = await decisionOptions(tools, url);
  const { serviceName, sub } = asking;
  const webhook = tools.target.webhookId;
  const expected = approvalText({ id, webhook, serviceName, sub, operation, askedAt, expiresAt });
  expectThat(text === expected, answer, `the text ${expected}`);
}
