import { formatRequestRule } from '@svault/shared/request-rules';
import * as z from 'zod';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { durationText } from '../../api/duration.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { Failure, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { withQuery } from '../../json-in.ts';
import { type Column, type Shape, printList, printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { type NamedOptions, searched } from '../resource-commands.ts';
import { type HeldRecord, type Token, tokenOf, tokenSchema } from './token.ts';

/** `tokens list`; as an agent, what it is granted */
export const listTokens: Run<[], NamedOptions> = async (invocation, _, { name }) => {
  const client = await apiClient(invocation, 'anybody');
  if (client.login.context.kind === 'agent') {
    if (name !== undefined) throw usage('--name searches the whole account, and takes an admin’s login');
    return printList(invocation, await ownGrants(client), OWN_GRANTS);
  }
  const tokens = await client.readAll(withQuery('/api/tokens', { name }), tokenSchema);
  printList(invocation, tokens, searched(TOKENS, 'credential', name));
  if (tokens.length > 0 && tokens.every(({ webhook }) => webhook === undefined))
    say(invocation, 'the webhook said nothing of them: it holds none, or is away (svault webhook status)');
  // Protocol 5.5: shown as a warning wherever tokens are listed.
  const anywhere = tokens.filter(isForAnyHost).map(({ serviceName }) => serviceName);
  if (anywhere.length > 0)
    say(invocation, `warning: proxies may send these to any host on the internet: ${anywhere.join(', ')}`);
};

/** `tokens show SERVICE`; as an agent, its grant */
export const showToken: Run<[string]> = async (invocation, [service]) => {
  const name = serviceNameFrom(service);
  const client = await apiClient(invocation, 'anybody');
  if (client.login.context.kind === 'agent') return showGrant(invocation, client, name);
  const token = await tokenOf(client, name);
  printOne(invocation, token, TOKEN);
  if (token.webhook === undefined)
    say(invocation, 'the webhook said nothing of it: it holds none, or is away (svault webhook status)');
  if (isForAnyHost(token)) say(invocation, 'warning: proxies may send it to any host on the internet');
};

async function showGrant(invocation: Invocation, client: ApiClient, name: string): Promise<void> {
  const grant = (await ownGrants(client)).find(({ serviceName }) => serviceName === name);
  if (grant === undefined)
    throw new Failure('notFound', `this agent has no grant for ${name}; svault ls lists those it has`);
  printOne(invocation, grant, OWN_GRANTS);
}

/** A grant as its agent reads it (GET /api/agents/credentials). */
const ownGrantSchema = z.looseObject({
  serviceName: z.string(),
  grantExpiresAt: z.string().nullable(),
  refreshPolicy: z.string(),
  sourceGroupId: z.string().nullable(),
});
type OwnGrant = z.infer<typeof ownGrantSchema>;

const grantsSchema = z.looseObject({ grants: z.array(ownGrantSchema) });

const ownGrants = async (client: ApiClient): Promise<readonly OwnGrant[]> =>
  (await client.read('/api/agents/credentials', grantsSchema)).grants;

const OWN_GRANTS: Shape<OwnGrant> = {
  columns: [
    { title: 'name', of: ({ serviceName }) => serviceName },
    {
      title: 'granted',
      of: ({ grantExpiresAt }, { time }) =>
        grantExpiresAt === null ? 'until revoked' : time(grantExpiresAt),
      whole: true,
    },
    { title: 'refresh', of: ({ refreshPolicy }) => refreshPolicy, whole: true },
    { title: 'folder', of: ({ sourceGroupId }) => sourceGroupId ?? '', wide: true },
  ],
  name: ({ serviceName }) => serviceName,
  none: 'nothing is granted to this agent',
};

/** Whether the webhook has a secret for it, in a word; '' where the webhook says nothing. */
function stateOf({ webhook, upstreamRejectedAt }: Token): string {
  if (webhook === undefined) return '';
  if (webhook.reauthNeeded === true) return 'authorize again';
  if (webhook.empty) return 'empty';
  if (upstreamRejectedAt !== undefined) return 'rejected by an upstream';
  return isExpired(webhook.expiryTime) && webhook.provider === undefined ? 'expired' : 'stored';
}

const isExpired = (time: string | undefined): boolean => time !== undefined && Date.parse(time) < Date.now();

const hostsOf = ({ webhook }: Token): string =>
  (webhook?.allowedHosts ?? []).map((host) => (host === '*' ? '* (any host)' : host)).join(', ');

/** What is approved with a passkey at the webhook before each use. */
const approvalText = (approval: HeldRecord['approval']): string => {
  if (approval === undefined) return '';
  const { for: uses, standingSeconds } = approval;
  return `${uses.join(', ')}${standingSeconds === undefined ? '' : `; standing up to ${durationText(standingSeconds)}`}`;
};

const isForAnyHost = ({ webhook }: Token): boolean => webhook?.allowedHosts.includes('*') ?? false;

const NAME: Column<Token> = { title: 'name', of: ({ serviceName }) => serviceName };
const TYPE: Column<Token> = { title: 'type', of: ({ tokenType }) => tokenType, whole: true };
const SECRET: Column<Token> = {
  title: 'secret',
  of: stateOf,
  tone: (token) => (stateOf(token) === 'stored' ? undefined : 'yellow'),
  whole: true,
};
const EXPIRES: Column<Token> = {
  title: 'expires',
  of: ({ webhook }, { time }) => time(webhook?.expiryTime),
  whole: true,
};
const DELIVERY: Column<Token> = {
  title: 'delivery',
  of: ({ webhook }) => webhook?.delivery ?? '',
  whole: true,
};
const HOSTS: Column<Token> = {
  title: 'proxies to',
  of: hostsOf,
  tone: (token) => (isForAnyHost(token) ? 'red' : undefined),
};
const APPROVAL: Column<Token> = {
  title: 'approval',
  of: ({ webhook }) => approvalText(webhook?.approval),
  whole: true,
};
const TAGS: Column<Token> = { title: 'tags', of: ({ tags }) => tags.join(', ') };
const DISPLAY_NAME: Column<Token> = {
  title: 'called',
  of: ({ displayName, serviceName }) => (displayName === serviceName ? '' : displayName),
};

const TOKENS: Shape<Token> = {
  columns: [
    NAME,
    TYPE,
    SECRET,
    EXPIRES,
    DELIVERY,
    HOSTS,
    TAGS,
    { ...DISPLAY_NAME, wide: true },
    { ...APPROVAL, wide: true },
    { title: 'version', of: ({ webhook }) => String(webhook?.version ?? ''), wide: true },
    { title: 'stored', of: ({ webhook }, { time }) => time(webhook?.updatedAt), wide: true },
    { title: 'described', of: ({ updatedAt }, { time }) => time(updatedAt), wide: true },
  ],
  name: ({ serviceName }) => serviceName,
  none: 'there are no credentials yet: svault add NAME',
};

const TOKEN: Shape<Token> = {
  columns: [
    NAME,
    DISPLAY_NAME,
    TYPE,
    { title: 'description', of: ({ description }) => description },
    { title: 'notes', of: ({ notes }) => notes },
    TAGS,
    SECRET,
    { title: 'version', of: ({ webhook }) => String(webhook?.version ?? '') },
    { title: 'stored', of: ({ webhook }, { time }) => time(webhook?.updatedAt) },
    EXPIRES,
    DELIVERY,
    HOSTS,
    {
      title: 'in headers',
      of: ({ webhook }) =>
        webhook === undefined || webhook.allowedHosts.length === 0 ? '' : webhook.allowedHeaders.join(', '),
    },
    { title: 'in the query', of: ({ webhook }) => (webhook?.allowedQuery ?? []).join(', ') },
    { title: 'requests', of: ({ webhook }) => (webhook?.requests ?? []).map(formatRequestRule).join('\n') },
    APPROVAL,
    { title: 'refreshed at', of: ({ webhook }) => webhook?.provider?.tokenUrl ?? '' },
    { title: 'as client', of: ({ webhook }) => webhook?.provider?.clientId ?? '' },
    {
      title: 'refresh token',
      of: ({ webhook }) => (webhook?.hasRefreshToken === true ? 'there is one' : ''),
    },
    { title: 'created', of: ({ createdAt }, { time }) => time(createdAt) },
    { title: 'described', of: ({ updatedAt }, { time }) => time(updatedAt) },
  ],
  name: ({ serviceName }) => serviceName,
};
