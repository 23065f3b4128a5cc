import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ExpiryField, termsIn } from '../agents/grant-form.tsx';
import { answerOf, api } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { CheckField } from '../parts/form.tsx';
import { STATUS_WORDS, effectOf } from './approval-words.ts';
import type { Approval } from './queries.ts';

const END_OF_CARD = 'mt-3 -mx-5 border-t border-line bg-paper px-5 py-3 rounded-b-xl';
/** At the end of the window, where the end of the card is below that. */
const BAR = `sticky bottom-0 ${END_OF_CARD}`;

/** How it is decided, or what was decided. */
export function Decision({ approval }: { readonly approval: Approval }) {
  const { status, kind } = approval;
  if (status === 'pending' && kind === 'passkey') return <AtWebhook approval={approval} />;
  if (status === 'pending') return <Buttons approval={approval} />;
  return <Decided approval={approval} />;
}

function AtWebhook({ approval: { url = '' } }: { readonly approval: Approval }) {
  const page = URL.parse(url);
  const isPage = page?.protocol === 'https:' || page?.protocol === 'http:';
  return (
    <div className={BAR}>
      <p className="text-sm text-dim wrap-anywhere">
        The webhook requires an approver’s passkey, whatever the control plane says. Decide on its page.
      </p>
      {isPage && (
        <p className="mt-2">
          <a href={page.href} target="_blank" rel="noopener" className="button button-primary inline-block">
            Decide at the webhook
          </a>{' '}
          <span className="text-sm text-dim wrap-anywhere">{page.host}</span>
        </p>
      )}
    </div>
  );
}

/**
 * Approve and Deny. They are no submit buttons: Enter in a field decides nothing, and no key but Enter or space on a button does.
 */
function Buttons({ approval }: { readonly approval: Approval }) {
  const { id, kind } = approval;
  const form = useRef<HTMLFormElement>(null);
  const queryClient = useQueryClient();
  const decision = useMutation({
    mutationFn: (decision: 'approve' | 'deny') =>
      decision === 'approve' ? approve(approval, new FormData(form.current ?? undefined)) : deny(id),
    // What was decided meanwhile by somebody else is shown, too.
    onSettled: () => queryClient.invalidateQueries(),
  });
  const decide = (which: 'approve' | 'deny'): void => {
    if (!decision.isPending) decision.mutate(which);
  };
  return (
    // Without a box, so that the bar stays in sight over the whole card.
    <form
      ref={form}
      className="contents"
      onSubmit={(event) => event.preventDefault()}
      aria-busy={decision.isPending}
    >
      {kind === 'access' && (
        <div className="mt-3 grid gap-4">
          <ExpiryField />
          <CheckField
            name="refreshPolicy"
            label="Keep the refresh token from the agent"
            hint="For OAuth tokens: the agent gets the access token alone."
          />
        </div>
      )}
      {decision.error && (
        <div className="mt-3">
          <Failure error={decision.error} />
        </div>
      )}
      {/* Nobody grants access past the terms of the grant. */}
      <div className={kind === 'access' ? END_OF_CARD : BAR}>
        <p className="text-sm text-dim">
          {kind === 'access' ? 'Approving grants the agent access on these terms.' : effectOf(approval)}
        </p>
        <div className="mt-2 flex gap-3">
          <button
            type="button"
            aria-disabled={decision.isPending}
            className="button button-primary min-h-11 grow sm:grow-0"
            onClick={() => decide('approve')}
          >
            Approve
          </button>
          <button
            type="button"
            aria-disabled={decision.isPending}
            className="button button-danger min-h-11 grow sm:grow-0"
            onClick={() => decide('deny')}
          >
            Deny
          </button>
        </div>
      </div>
    </form>
  );
}

/** What was decided; it takes the focus from the button that is gone. */
function Decided({ approval }: { readonly approval: Approval }) {
  const { id, status, kind, uses, used } = approval;
  const words = useRef<HTMLParagraphElement>(null);
  const queryClient = useQueryClient();
  const revoking = useMutation({
    mutationFn: () => deny(id),
    onSettled: () => queryClient.invalidateQueries(),
  });
  useEffect(() => {
    if (document.activeElement === document.body) words.current?.focus({ preventScroll: true });
  }, [status]);
  return (
    <div className={BAR}>
      <p
        ref={words}
        tabIndex={-1}
        role="status"
        className={`text-lg font-semibold ${status === 'denied' ? 'text-warn' : status === 'approved' ? 'text-good' : 'text-dim'}`}
      >
        {STATUS_WORDS[status]}
      </p>
      {revoking.error && <Failure error={revoking.error} />}
      {status === 'approved' && kind === 'policy' && (
        <>
          <p className="text-sm text-dim">
            {used} of {uses} {uses === 1 ? 'use' : 'uses'} consumed. The agent gets through when it repeats
            the request.
          </p>
          <button
            type="button"
            aria-disabled={revoking.isPending}
            className="button button-danger mt-2 min-h-11"
            onClick={() => revoking.isPending || revoking.mutate()}
          >
            Revoke
          </button>
        </>
      )}
      {status === 'denied' && (
        <p className="text-sm text-dim">The same request is denied for ten minutes without asking again.</p>
      )}
      {status === 'expired' && (
        <p className="text-sm text-dim">It can no longer be decided. Repeating the request asks again.</p>
      )}
    </div>
  );
}

const approve = ({ id, kind }: Approval, values: FormData) =>
  answerOf(
    api.POST('/api/approvals/{id}/approve', {
      params: { path: { id } },
      body: {
        ...(kind === 'access' && termsIn(values)),
        ...(values.has('refreshPolicy') && { refreshPolicy: 'auto' as const }),
      },
    }),
  );

const deny = (id: string) => answerOf(api.POST('/api/approvals/{id}/deny', { params: { path: { id } } }));
