import { formatRequestRule } from '@svault/shared/request-rules';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { meQuery } from '../api/queries.ts';
import { Entries } from '../parts/entries.tsx';
import { ScreenNotLoaded } from '../parts/failure.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { inUnits } from '../policies/rule-words.ts';
import { CredentialEvents, LastUse } from './credential-events.tsx';
import { ChangeFolders, CredentialFolders } from './credential-folders.tsx';
import { CredentialReach } from './credential-reach.tsx';
import { takeWarnings } from './credential-path.ts';
import { DeleteCredential } from './delete-credential.tsx';
import { EditCredential } from './edit-credential.tsx';
import type { Held } from './kind-fields.tsx';
import { TYPE_NAMES } from './kinds.ts';
import { credentialQuery } from './queries.ts';
import { RefreshNow } from './refresh-now.tsx';
import { CredentialState } from './state.tsx';

const route = getRouteApi('/credentials/$serviceName');

/** One credential: what it is, what is sealed with it, who can reach it and what happened with it. */
export function CredentialDetail() {
  const { serviceName } = route.useParams();
  const query = useQuery(credentialQuery(serviceName));
  const { data: me } = useQuery(meQuery);
  const { data: credential } = query;
  if (credential === undefined) return <ScreenNotLoaded query={query} />;
  const isAdmin = me?.role === 'admin';
  const { webhook, description } = credential;
  const isEmpty = webhook === undefined || webhook.empty;
  return (
    <Screen
      title={serviceName}
      up={{ to: '/credentials', name: 'Credentials' }}
      actions={
        <>
          {isAdmin && webhook?.provider !== undefined && <RefreshNow serviceName={serviceName} />}
          {(isAdmin || webhook === undefined) && (
            <Link
              to="/credentials/$serviceName/secret"
              params={{ serviceName }}
              className={isEmpty ? 'button button-primary' : 'button'}
            >
              {isEmpty ? 'Store its secret' : 'Replace the secret'}
            </Link>
          )}
          {isAdmin && <EditCredential credential={credential} />}
          {isAdmin && <DeleteCredential serviceName={serviceName} />}
        </>
      }
    >
      {description !== '' && (
        <p className="mt-1 whitespace-pre-line text-dim wrap-anywhere">
          <bdi>{description}</bdi>
        </p>
      )}
      <div className="mt-4 grid gap-4">
        <Warnings credential={credential} />
        <div className="grid items-start gap-4 xl:grid-cols-2">
          <Section id="credential" title="Credential" actions={<ChangeFolders credential={credential} />}>
            <Facts facts={factsOf(credential)} />
          </Section>
          <Section id="sealed" title="Sealed with it">
            <Sealed held={webhook} />
          </Section>
        </div>
        <CredentialReach serviceName={serviceName} />
        <CredentialEvents serviceName={serviceName} />
      </div>
    </Screen>
  );
}

/** What keeps it from being used, and what to do. */
function Warnings({ credential: { webhook, upstreamRejectedAt, serviceName } }: CredentialProps) {
  const [ofStore] = useState(() => takeWarnings(serviceName));
  const warnings: ReactNode[] = ofStore.map((text) => <bdi>{text}</bdi>);
  if (webhook === undefined)
    warnings.push('No secret is stored, or the webhook does not answer now. Agents and proxies get nothing.');
  else if (webhook.empty) warnings.push('No secret is stored. Agents and proxies get nothing.');
  if (webhook?.reauthNeeded)
    warnings.push(
      'The provider no longer accepts its refresh token. Authorize again there, and replace the secret with what comes of it.',
    );
  if (upstreamRejectedAt !== undefined)
    warnings.push(
      <>
        An upstream of a proxy rejects it since <Time at={upstreamRejectedAt} />. Replace the secret, or look
        at the upstream.
      </>,
    );
  if (webhook?.allowedHosts.includes('*'))
    warnings.push('Proxies may send it to any host on the internet. Replace the secret, and name its hosts.');
  if (webhook?.delivery === 'proxy-only' && webhook.allowedHosts.length === 0)
    warnings.push('Nothing can use it: it goes through proxies only, and no host is allowed.');
  if (warnings.length === 0) return null;
  return (
    <ul className="card grid gap-1 border-warn">
      {warnings.map((warning, index) => (
        <li key={`${serviceName} ${index}`} className="text-warn wrap-anywhere">
          {warning}
        </li>
      ))}
    </ul>
  );
}

interface CredentialProps {
  readonly credential: Schemas['Token'];
}

type Fact = readonly [name: string, value: ReactNode];

function factsOf(credential: Schemas['Token']): readonly Fact[] {
  const { serviceName, displayName, tokenType, webhook, notes, tags, createdAt } = credential;
  return [
    ...(displayName === serviceName ? [] : [['Called', <bdi>{displayName}</bdi>] as const]),
    ['Type', TYPE_NAMES[tokenType]],
    ['State', <CredentialState of={credential} />],
    ...(webhook === undefined
      ? []
      : ([
          ['Version', versionText(webhook)],
          ['Expires', <Time at={webhook.expiryTime} />],
        ] as const)),
    ['Last used', <LastUse serviceName={serviceName} />],
    ['Folders', <CredentialFolders credential={credential} />],
    ...(tags.length === 0 ? [] : [['Tags', <bdi>{tags.join(', ')}</bdi>] as const]),
    ['Created', <Time at={createdAt} />],
    ...(notes === ''
      ? []
      : [
          [
            'Notes',
            <bdi tabIndex={0} className="block max-h-48 overflow-y-auto whitespace-pre-line">
              {notes}
            </bdi>,
          ] as const,
        ]),
  ];
}

const versionText = ({ version, updatedAt }: NonNullable<Schemas['Token']['webhook']>) => (
  <>
    {version}, stored <Time at={updatedAt} />
    {version > 1 && <span className="text-sm text-dim">; replaced ones are kept for 7 days</span>}
  </>
);

const DELIVERIES = {
  any: 'To agents with a grant, and through proxies',
  'proxy-only': 'Only through proxies',
  sealed: 'Only encrypted to the keys of its recipients',
} as const;

const APPROVED = {
  credential: 'before somebody gets it',
  proxy: 'before each request of a proxy',
} as const;

function approvalText({ for: uses, standingSeconds }: NonNullable<Held['approval']>): string {
  const when = uses.map((use) => APPROVED[use]).join(' and ');
  const { count, name } = inUnits(standingSeconds ?? 0);
  const standing =
    standingSeconds === undefined
      ? ''
      : `; an approval may stand for up to ${count} ${name}${count === 1 ? '' : 's'}`;
  return `With a passkey, ${when}${standing}`;
}

function Sealed({ held }: { readonly held: Schemas['Token']['webhook'] }) {
  if (held === undefined)
    return <p className="mt-2 text-dim">Known once the webhook holds a secret and answers.</p>;
  const { delivery, allowedHosts, allowedHeaders, allowedQuery = [], provider, hasRefreshToken } = held;
  const { requests = [] } = held;
  const facts: Fact[] = [
    ['Delivery', DELIVERIES[delivery]],
    ['Hosts', <Entries of={allowedHosts} none="None: no proxy can use it" />],
  ];
  if (allowedHosts.length > 0)
    facts.push(
      ['Headers', <Entries of={allowedHeaders} none="None" />],
      ['Query parameters', <Entries of={allowedQuery} none="None" />],
      ['Allowed requests', <Entries of={requests.map(formatRequestRule)} none="Any at these hosts" />],
    );
  if (held.approval !== undefined) facts.push(['Approval', approvalText(held.approval)]);
  if (provider !== undefined)
    facts.push(
      ['Refreshed at', <code>{provider.tokenUrl}</code>],
      ['Client id', <code>{provider.clientId}</code>],
      ['Client authentication', <code>{provider.authMethod}</code>],
      [
        'Client secret',
        provider.mediated ? 'Kept by the control plane' : 'Kept by the webhook, if there is one',
      ],
    );
  facts.push(['Refresh token', hasRefreshToken ? 'Stored' : 'None']);
  return (
    <>
      <Facts facts={facts} />
      <p className="mt-3 text-sm text-dim">
        The webhook holds to these, whatever the control plane asks. Replace the secret to change them.
      </p>
    </>
  );
}
