import { useQuery } from '@tanstack/react-query';
import { meQuery, overviewQuery } from '../api/queries.ts';

/** Where secrets go, and where this browser sent them before. */
export interface SecretDestination {
  readonly url: string;
  readonly host: string;
  /** The former address, where it was another one. */
  readonly before: string | undefined;
  readonly online: boolean;
  /** Called once a secret is stored there. */
  remember(): void;
}

/**
 * The bound webhook. A page that a compromised control plane serves can do as it likes; but where the binding alone was changed,
 * the address that this browser remembers tells.
 *
 * @returns undefined until it is known; null where no webhook is bound
 */
export function useWebhook(): SecretDestination | null | undefined {
  const { data: me } = useQuery(meQuery);
  const { data: overview } = useQuery(overviewQuery);
  if (me === undefined || overview === undefined) return undefined;
  const { url, online = true } = overview.webhook;
  if (url === undefined) return null;
  const key = `svault webhook of ${me.vaultId}`;
  const known = localStorage.getItem(key) ?? undefined;
  return {
    url,
    host: new URL(url).host,
    before: known === url ? undefined : known,
    online,
    remember: () => localStorage.setItem(key, url),
  };
}
