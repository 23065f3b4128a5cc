import type { Schemas } from '../api/client.ts';
import { useWebhook } from './use-webhook.ts';

type State = readonly [tone: 'good' | 'warn' | 'dim', text: string];

/** Whether a credential can be used as it is, in a few words. */
function stateOf({ webhook, upstreamRejectedAt }: Schemas['Token'], isOnline: boolean): State {
  if (webhook === undefined) return isOnline ? ['warn', 'No secret'] : ['dim', 'Not known'];
  if (webhook.reauthNeeded === true) return ['warn', 'Authorize again'];
  if (webhook.empty) return ['warn', 'No secret'];
  if (upstreamRejectedAt !== undefined) return ['warn', 'Rejected by an upstream'];
  if (webhook.provider !== undefined && webhook.hasRefreshToken) return ['good', 'Refreshed'];
  return isExpired(webhook.expiryTime) ? ['warn', 'Expired'] : ['good', 'Ready'];
}

const isExpired = (time: string | undefined): boolean => time !== undefined && Date.parse(time) < Date.now();

const TONES = { good: 'text-good', warn: 'text-warn', dim: 'text-dim' } as const;

/** The same as it is shown. */
export function CredentialState({ of }: { readonly of: Schemas['Token'] }) {
  const destination = useWebhook();
  // The API says nothing of a credential that the webhook does not have, nor where it does not answer.
  const [tone, text] = stateOf(of, destination?.online ?? false);
  return <span className={TONES[tone]}>{text}</span>;
}
