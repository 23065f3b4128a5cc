import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { notify } from '../parts/notice.tsx';

type Refresh = Schemas['TokenRefresh'];

/** Has the provider asked for a new token at once. */
export function RefreshNow({ serviceName }: { readonly serviceName: string }) {
  const queryClient = useQueryClient();
  const [said, setSaid] = useState<unknown>();
  const running = useRef(false);
  const refresh = async (): Promise<void> => {
    if (running.current) return;
    running.current = true;
    setSaid(undefined);
    try {
      const call = api.POST('/api/tokens/{serviceName}/refresh', { params: { path: { serviceName } } });
      const answer = await answerOf(call);
      if (answer.outcome === 'refreshed') notify('The token is refreshed.');
      else setSaid(textOf(answer));
    } catch (error) {
      setSaid(error);
    } finally {
      running.current = false;
      void queryClient.invalidateQueries();
    }
  };
  return (
    <>
      <button type="button" className="button" onClick={() => void refresh()}>
        Refresh now
      </button>
      {said !== undefined && (
        <div className="order-last basis-full">
          {typeof said === 'string' ? (
            <p role="alert" className="card border-warn py-3 wrap-anywhere">
              {said}
            </p>
          ) : (
            <Failure error={said} />
          )}
        </div>
      )}
    </>
  );
}

function textOf({ outcome, providerReason }: Refresh): string {
  const said = providerReason === undefined ? '' : ` It said: ${providerReason}`;
  switch (outcome) {
    case 'refreshed':
      return 'The token is refreshed.';
    case 'accepted':
      return 'The webhook refreshes it. Look again in a minute.';
    case 'failed':
      return `The provider gave no new token, and the old one is kept. Try again later.${said}`;
    case 'not_refreshable':
      return 'It cannot be refreshed: it was stored without a provider or without a refresh token.';
    case 'provider_not_configured':
      return 'Only the control plane can refresh it, and it has no client of this provider. To add one: svault providers create';
    case 'reauth_needed':
      return `The provider no longer accepts its refresh token. Authorize again there, and replace the secret.${said}`;
  }
}
