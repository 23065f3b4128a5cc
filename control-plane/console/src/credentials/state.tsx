import type { Schemas } from '../api/client.ts';

type State = readonly [tone: 'good' | 'warn' | 'dim', text: string];

/** Whether a credential can be used as it is, in a few words. */
function stateOf({ webhook, upstreamRejectedAt }: Schemas['Token']): State {
  if (webhook === undefined) return ['dim', 'Nothing known'];
  if (webhook.reauthNeeded === true) return ['warn', 'Authorize again'];
  if (webhook.empty) return ['warn', 'No secret'];
  if (upstreamRejectedAt !== undefined) return ['warn', 'Rejected by an upstream'];
  if (webhook.provider !== undefined && webhook.hasRefreshToken) return ['good', 'Refreshed'];
  return isExpired(webhook.expiryTime) ? ['warn', 'Expired'] : ['good', 'Stored'];
}

const isExpired = (time: string | undefined): boolean => time !== undefined && Date.parse(time) < Date.now();

const TONES = { good: 'text-good', warn: 'text-warn', dim: 'text-dim' } as const;

/** The same as it is shown. */
export function CredentialState({ of }: { readonly of: Schemas['Token'] }) {
  const [tone, text] = stateOf(of);
  return <span className={TONES[tone]}>{text}</span>;
}
