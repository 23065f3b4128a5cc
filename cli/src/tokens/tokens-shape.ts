import type { Shape } from '../output/print.ts';
import type { Token } from './token.ts';

/** Whether the webhook has a secret for it, in a word; '' where the webhook says nothing. */
function stateOf({ webhook, upstreamRejectedAt }: Token): string {
  if (webhook === undefined) return '';
  if (webhook.reauthNeeded === true) return 'authorise anew';
  if (webhook.empty) return 'empty';
  if (upstreamRejectedAt !== undefined) return 'rejected by an upstream';
  return isExpired(webhook.expiryTime) && webhook.provider === undefined ? 'expired' : 'stored';
}

const isExpired = (time: string | undefined): boolean => time !== undefined && Date.parse(time) < Date.now();

/** Where a proxy may send it; `*` is any host. */
const hostsOf = ({ webhook }: Token): string =>
  (webhook?.allowedHosts ?? []).map((host) => (host === '*' ? '* (any host)' : host)).join(', ');

export const isForAnyHost = ({ webhook }: Token): boolean => webhook?.allowedHosts.includes('*') ?? false;

const NAME = { title: 'name', of: ({ serviceName }: Token) => serviceName };
const TYPE = { title: 'type', of: ({ tokenType }: Token) => tokenType, whole: true } as const;
const SECRET: Shape<Token>['columns'][number] = {
  title: 'secret',
  of: stateOf,
  tone: (token) => (stateOf(token) === 'stored' ? undefined : 'yellow'),
  whole: true,
};
const EXPIRES: Shape<Token>['columns'][number] = {
  title: 'expires',
  of: ({ webhook }, { time }) => time(webhook?.expiryTime),
  whole: true,
};
const DELIVERY = {
  title: 'delivery',
  of: ({ webhook }: Token) => webhook?.delivery ?? '',
  whole: true,
} as const;
const HOSTS: Shape<Token>['columns'][number] = {
  title: 'proxies to',
  of: hostsOf,
  tone: (token) => (isForAnyHost(token) ? 'red' : undefined),
};
const TAGS = { title: 'tags', of: ({ tags }: Token) => tags.join(', ') };
const DISPLAY_NAME = {
  title: 'called',
  of: ({ displayName, serviceName }: Token) => (displayName === serviceName ? '' : displayName),
};

/** Tokens in a list. */
export const TOKENS: Shape<Token> = {
  columns: [
    NAME,
    TYPE,
    SECRET,
    EXPIRES,
    DELIVERY,
    HOSTS,
    TAGS,
    { ...DISPLAY_NAME, wide: true },
    { title: 'version', of: ({ webhook }) => String(webhook?.version ?? ''), wide: true },
    { title: 'stored', of: ({ webhook }, { time }) => time(webhook?.updatedAt), wide: true },
    { title: 'described', of: ({ updatedAt }, { time }) => time(updatedAt), wide: true },
  ],
  name: ({ serviceName }) => serviceName,
  none: 'there are no tokens: svault add NAME makes one',
};

/** One token, with all that is known of it. */
export const TOKEN: Shape<Token> = {
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
    { title: 'refreshed at', of: ({ webhook }) => webhook?.provider?.tokenUrl ?? '' },
    { title: 'as client', of: ({ webhook }) => webhook?.provider?.clientId ?? '' },
    {
      title: 'refresh token',
      of: ({ webhook }) => (webhook?.hasRefreshToken === true ? 'there is one' : ''),
    },
    { title: 'made', of: ({ createdAt }, { time }) => time(createdAt) },
    { title: 'described', of: ({ updatedAt }, { time }) => time(updatedAt) },
  ],
  name: ({ serviceName }) => serviceName,
};
