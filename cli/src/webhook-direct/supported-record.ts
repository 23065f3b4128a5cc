import type { Capability, Minter, StoreBody } from '@svault/shared/schemas';
import type { ApiClient } from '../api/api-client.ts';
import { failed, orElse } from '../failure.ts';
import { plainLine } from '../output/plain-line.ts';
import { type WebhookView, webhookSchema } from './webhook-view.ts';

const MINTERS: Readonly<Record<Minter['type'], Capability>> = {
  'aws-sts': 'aws-sts',
  'gcp-service-account': 'gcp',
  'github-app': 'github-app',
};

/** What a record takes beyond `store` (PROTOCOL.md section 5.2), and how a person calls it. */
function neededFor(body: StoreBody): ReadonlyArray<readonly [Capability, called: string]> {
  const minter = body.tokenType === 'RawCredential' ? body.minter?.type : undefined;
  return [
    ...(body.tokenType === 'TOTP' ? [['totp', 'TOTP'] as const] : []),
    ...(minter === undefined ? [] : [[MINTERS[minter], `the minter ${minter}`] as const]),
    ...(body.requests === undefined ? [] : [['request-rules', 'rules for requests'] as const]),
    ...(body.approval === undefined ? [] : [['approvals', 'approvals by passkey'] as const]),
    ...(body.allowedQuery === undefined ? [] : [['http-proxy', 'credentials in a query'] as const]),
    ...(body.delivery === 'sealed' ? [['sealed-delivery', 'sealed delivery'] as const] : []),
  ];
}

/**
 * Checks that the bound webhook claims what a record takes, before anything is named or sent: its refusal would leave a
 * token without a secret behind. A webhook that does not answer, and a member who may not know it, are no reason to refuse.
 * @throws Failure that names what is missing
 */
export async function mustBeSupported(client: ApiClient, body: StoreBody): Promise<void> {
  const needed = neededFor(body);
  if (client.dryRun || needed.length === 0) return;
  const { reachable, capabilities } = await orElse<WebhookView>(
    client.read('/api/webhook', webhookSchema),
    (error) => {
      if (error.code !== 'FORBIDDEN') throw error;
      return { bound: true };
    },
  );
  if (reachable !== true || capabilities === undefined) return;
  const missing = needed.filter(([capability]) => !capabilities.includes(capability));
  if (missing.length === 0) return;
  const called = missing.map(([, each]) => each).join(' and ');
  const claims = capabilities.length === 0 ? 'nothing' : plainLine(capabilities.join(', '));
  throw failed(`your webhook does not support ${called} (it claims ${claims}); nothing was stored`);
}
