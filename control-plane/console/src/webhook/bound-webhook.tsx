import type { ReactNode } from 'react';
import { answerOf, api } from '../api/client.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { notify } from '../parts/notice.tsx';
import { Facts, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { Answers } from './states.tsx';

type Webhook = Awaited<ReturnType<typeof readWebhook>>;
const readWebhook = () => answerOf(api.GET('/api/webhook'));

/** The webhook that is bound: how it does, its key, and the way out of the binding. */
export function BoundWebhook({ webhook }: { readonly webhook: Webhook }) {
  const { reachable, problem, setAside } = webhook;
  return (
    <Section
      id="webhook"
      title="Webhook"
      actions={
        <>
          <RotateSecret />
          <Unbind url={webhook.url ?? ''} />
        </>
      }
    >
      {reachable === false && (
        <p role="alert" className="mt-2 text-warn">
          The webhook does not answer, so no credential can be delivered or stored. If it is stopped, start
          it.
        </p>
      )}
      {problem !== undefined && (
        <p className="mt-2 text-warn wrap-anywhere">
          <bdi>{problem}</bdi>
        </p>
      )}
      {setAside && (
        <p className="mt-2 text-warn">
          Credentials are not refreshed on schedule until <Time at={setAside.until} />:{' '}
          {ASIDE[setAside.reason]}.
        </p>
      )}
      <Facts facts={factsOf(webhook)} />
    </Section>
  );
}

const ASIDE: Readonly<Record<NonNullable<Webhook['setAside']>['reason'], string>> = {
  slow: 'its answers took too long',
  unusable_answers: 'its answers could not be used',
  too_many_answers: 'its answers were too large in all',
};

function factsOf(webhook: Webhook): readonly (readonly [string, ReactNode])[] {
  const { url, reachable, latencyMs, lastSeenAt, version, capabilities, boundAt, keyId, rotationPending } =
    webhook;
  return [
    ['State', <Answers yes={reachable === true} />],
    [
      'Address',
      <code>
        <bdi>{url}</bdi>
      </code>,
    ],
    ['Latency', latencyMs === undefined ? 'No answer' : `${latencyMs} ms`],
    ['Last answer', <Time at={lastSeenAt} />],
    ['Version', version === undefined ? 'Not known' : <bdi>{version}</bdi>],
    ['Capabilities', <bdi>{capabilities?.join(', ')}</bdi>],
    ['Bound', <Time at={boundAt} />],
    [
      'Key',
      <>
        <code>{keyId}</code>
        {rotationPending === true && (
          <span className="text-warn"> is being replaced; the webhook has not confirmed it yet</span>
        )}
      </>,
    ],
    ['Id', <code>{webhook.webhookId}</code>],
  ];
}

const RotateSecret = () => (
  <ConfirmDialog
    look={{ className: 'button' }}
    trigger="Rotate secret"
    title="Rotate the binding secret?"
    submit="Rotate"
    action={() => answerOf(api.POST('/api/webhook/rotate-secret'))}
    onDone={() => notify('The binding secret is rotated.')}
  >
    <p>
      The control plane and the webhook agree on a new key for requests and tickets. The former key ends ten
      minutes later. Agents notice nothing, and credentials stay as they are.
    </p>
    <p className="mt-2 text-sm text-dim">
      Back up both programs afterwards: a backup from before does not have the new key.
    </p>
  </ConfirmDialog>
);

const Unbind = ({ url }: { readonly url: string }) => (
  <ConfirmDialog
    trigger="Unbind"
    title="Unbind the webhook?"
    submit="Unbind"
    action={() => answerOf(api.DELETE('/api/webhook'))}
    onDone={() => notify('The webhook is unbound.')}
  >
    <ul className="grid list-disc gap-1 pl-5">
      <li>
        <strong>Agents and proxies</strong> get no credential, until a webhook is bound.
      </li>
      <li>
        <strong>People</strong> cannot store, replace or refresh one.
      </li>
      <li>
        Credentials stay at{' '}
        <code>
          <bdi>{url}</bdi>
        </code>
        ; agents, grants and policies stay here.
      </li>
    </ul>
    <p className="mt-2">
      To bind the same webhook again, run <code>unseal-bind</code> on its machine first: it erases the keys of
      this binding.
    </p>
  </ConfirmDialog>
);
