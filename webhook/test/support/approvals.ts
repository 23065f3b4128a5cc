import { silentLogger } from '@svault/server-kit/logger';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { type SoftwarePasskey, softwarePasskey } from '@svault/shared/software-passkey';
import type { Answer, BoundWebhook } from './bound-webhook.ts';

export const AGENT = 'agt_AAAAAAAAAAAAAAAAAAAAAA';
export const APPROVAL = { by: 'passkey', for: ['credential', 'proxy'] } as const;

/** What is decided, and how it is signed. */
export interface Asked {
  readonly decision?: 'approve' | 'deny' | 'revoke';
  readonly scope?: string;
}

/** The link that `approver-link` prints, as its path. */
export async function approverLink(webhook: BoundWebhook, name?: string): Promise<string> {
  const { clock } = webhook;
  const context = await openContext(webhookConfig(webhook.env), { clock, logger: silentLogger });
  try {
    const { link } = await context.approvers.makeLink(name);
    return link.slice(webhook.env['SV_WEBHOOK_URL']?.length);
  } finally {
    context.close();
  }
}

export const codeOf = (link: string): string => new URLSearchParams(link.split('?')[1]).get('code') ?? '';

export const passkeyFor = (webhook: BoundWebhook): SoftwarePasskey => {
  const { origin, hostname } = new URL(webhook.env['SV_WEBHOOK_URL'] ?? '');
  return softwarePasskey({ origin, rpId: hostname });
};

/** What a page posts. */
export const post = (
  webhook: Pick<BoundWebhook, 'send'>,
  path: string,
  body: unknown,
  headers = {},
): Promise<Answer> =>
  webhook.send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** An approver with a new passkey. */
export async function enrol(
  webhook: BoundWebhook,
  name = 'Ana',
): Promise<SoftwarePasskey & { approver: string }> {
  const code = codeOf(await approverLink(webhook));
  const passkey = passkeyFor(webhook);
  const { json } = await post(webhook, '/approvers/new/options', { code, name });
  const response = passkey.create(json.publicKey);
  const answer = await post(webhook, '/approvers/new/decision', { code, name, response });
  if (answer.status !== 200) throw new Error(`the passkey was refused: ${answer.text}`);
  return { ...passkey, approver: answer.json.id };
}

/** What the service asks; a text for `body` is sent as base64. */
export const ask = (
  webhook: Pick<BoundWebhook, 'signed'>,
  operation: object,
  more: object = {},
): Promise<Answer> => webhook.signed('/v1/approvals', { serviceName: 'api', sub: AGENT, operation, ...more });

export const CREDENTIAL = { type: 'credential' };

export async function statusOf(webhook: BoundWebhook, id: string): Promise<string> {
  const { json } = await webhook.signed('/v1/approvals/list', { ids: [id] });
  return json.items[0]?.status;
}

/** Options, a signature, and the decision. */
export async function decide(
  webhook: Pick<BoundWebhook, 'send'>,
  id: string,
  passkey: Pick<SoftwarePasskey, 'get'>,
  { decision = 'approve', scope = 'once' }: Asked = {},
  changes: Parameters<SoftwarePasskey['get']>[1] = {},
): Promise<Answer> {
  const options = await post(webhook, `/approvals/${id}/options`, { decision, scope });
  if (options.status !== 200) return options;
  const response = passkey.get(options.json.publicKey, changes);
  return post(webhook, `/approvals/${id}/decision`, { decision, scope, response });
}

/** Asks, and has it approved. @returns the id */
export async function approved(
  webhook: BoundWebhook,
  passkey: Pick<SoftwarePasskey, 'get'>,
  operation: object,
  more: Asked & Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { decision, scope, ...others } = more;
  const { json, text } = await ask(webhook, operation, others);
  if (json?.id === undefined) throw new Error(`it could not be asked: ${text}`);
  const decided = await decide(webhook, json.id, passkey, {
    ...(decision && { decision }),
    ...(scope && { scope }),
  });
  if (decided.status !== 200) throw new Error(`the decision was refused: ${decided.text}`);
  return json.id;
}
