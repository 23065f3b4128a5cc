import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';
import { Time } from '../parts/time.tsx';

export type Item = Schemas['AttentionItem'];

/**
 * What needs attention as a sentence, and the way to where something can be done about it.
 *
 * @param props.others how many more grants of the same agent expire after this one
 */
export function AttentionText(props: { readonly item: Item; readonly others: number }): ReactNode {
  const { item, others } = props;
  const { kind, since, endsAt, subject, serviceName } = item;
  const name = <bdi className="font-semibold">{subject.name ?? subject.id}</bdi>;
  switch (kind) {
    case 'webhook_offline':
      return (
        <>
          The webhook has not answered since <Time at={since} />: no credential can be delivered.{' '}
          <Link to="/webhook">See its state</Link>
        </>
      );
    case 'log_contradiction':
      return (
        <>
          The log of the webhook contradicts what was seen of it. <TheEvent item={item} />
        </>
      );
    case 'checkpoint_refused':
      return (
        <>
          The webhook refuses to cosign the log since <Time at={since} />.{' '}
          <Link to="/activity" search={{ event: 'CHECKPOINT_REFUSED' }}>
            Read why
          </Link>
        </>
      );
    case 'log_not_delivered':
      return (
        <>
          The webhook has not acknowledged the log since <Time at={since} />.{' '}
          <Link to="/webhook">See how far its copy reaches</Link>
        </>
      );
    case 'vault_locked':
      return (
        <>
          The vault is locked: every credential request is denied. <Link to="/webhook">Unlock it</Link>
        </>
      );
    case 'lockout':
      return (
        <>
          {name} is locked out until <Time at={endsAt} />. <Link to="/limits">See its limits</Link>
        </>
      );
    case 'refresh_failed':
      return (
        <>
          The last refresh of {name} failed. <TheEvent item={item} />, <TheCredential of={subject.id} />
        </>
      );
    case 'credential_rejected':
      return (
        <>
          An upstream rejected the credential {name}. <TheCredential of={subject.id} />
        </>
      );
    case 'credential_expires':
      return (
        <>
          The credential {name} expires <Time at={endsAt} />. <TheCredential of={subject.id} />
        </>
      );
    case 'grant_expires':
      return (
        <>
          {others === 0 ? (
            <>
              The grant of <bdi className="font-semibold">{serviceName}</bdi> to {name} expires{' '}
            </>
          ) : (
            <>
              {others + 1} grants to {name} expire within a day, the first,{' '}
              <bdi className="font-semibold">{serviceName}</bdi>,{' '}
            </>
          )}
          <Time at={endsAt} />.{' '}
          <Link to="/agents/$id" params={{ id: subject.id }}>
            {others === 0 ? 'Renew it' : 'Renew them'}
          </Link>
        </>
      );
  }
}

const TheCredential = ({ of }: { readonly of: string }) => (
  <Link to="/credentials/$serviceName" params={{ serviceName: of }}>
    Open the credential
  </Link>
);

const TheEvent = ({ item: { eventSeq } }: { readonly item: Item }) =>
  eventSeq !== null && (
    <Link to="/activity/$seq" params={{ seq: String(eventSeq) }}>
      Read the event
    </Link>
  );
