import { agentReferred } from '../../api/agents.ts';
import { apiClient, nothingSchema } from '../../api/api-client.ts';
import { type Grant, grantPath, grantSchema, grantsPath } from '../../api/grants.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { oneByOne, unique } from '../../one-by-one.ts';
import { type Shape, printAnswers, printList } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { type GrantTerms, aboutGrant, grantServices, renewGrants } from './grant-services.ts';

/** `grants list AGENT` */
export const listGrants: Run<[agent: string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id, name } = await agentReferred(client, reference);
  const grants = await client.readAll(grantsPath(id), grantSchema);
  printList(invocation, grants, {
    ...GRANTS,
    none: `${name} is granted nothing: svault grants add ${name} SERVICE`,
  });
};

const GRANTS: Shape<Grant> = {
  columns: [
    { title: 'service', of: ({ serviceName }) => serviceName },
    {
      title: 'status',
      of: ({ status }) => status,
      tone: ({ status }) => (status === 'expired' ? 'yellow' : undefined),
      whole: true,
    },
    {
      title: 'ends',
      of: ({ grantExpiresAt }, { time }) => (grantExpiresAt === null ? 'when revoked' : time(grantExpiresAt)),
      whole: true,
    },
    { title: 'refresh', of: ({ refreshPolicy }) => refreshPolicy, whole: true },
    { title: 'made', of: ({ createdAt }, { time }) => time(createdAt), whole: true },
    { title: 'folder', of: ({ sourceGroupId }) => sourceGroupId ?? '', wide: true },
    { title: 'id', of: ({ id }) => id, wide: true },
  ],
  name: ({ serviceName }) => serviceName,
};

interface Options {
  readonly expires?: string;
  readonly refreshPolicy?: 'none' | 'auto';
  readonly renew?: true;
}

/** `grants add AGENT SERVICE…`, and with `--renew` for grants that are there. */
export const addGrants: Run<[agent: string, services: readonly string[]], Options> = async (
  invocation,
  [reference, names],
  { expires, refreshPolicy, renew },
) => {
  if (renew && expires === undefined)
    throw usage('--renew needs --expires: a duration such as 1h, or never (until it is revoked)');
  const terms = {
    ...(expires !== undefined && expiry(expires)),
    ...(refreshPolicy !== undefined && { refreshPolicy }),
  };
  const services = unique(names.map(serviceNameFrom));
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const grant = renew ? renewGrants : grantServices;
  const { done, failure } = await grant(invocation, client, agent, { services, terms });
  printAnswers(invocation, done);
  if (failure !== undefined) throw failure;
};

/** `grants rm AGENT SERVICE…` */
export const removeGrants: Run<[agent: string, services: readonly string[]]> = async (
  invocation,
  [reference, names],
) => {
  const services = unique(names.map(serviceNameFrom));
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const { done, failure } = await oneByOne(invocation, services, async (serviceName) => {
    const path = grantPath(agent.id, serviceName);
    await aboutGrant(agent, serviceName, client.change({ method: 'DELETE', path, schema: nothingSchema }));
    say(invocation, `${agent.name} may no longer have ${serviceName}`);
    return { serviceName, revoked: true };
  });
  printAnswers(invocation, done);
  if (failure !== undefined) throw failure;
};

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** Specification, "Grant": 1 hour up to 30 days. */
const MIN_SECONDS = HOUR_SECONDS;
const MAX_SECONDS = 30 * DAY_SECONDS;

const DURATION = /^(?=\d)(?:(?<days>\d{1,4})d)?(?:(?<hours>\d{1,4})h)?(?:(?<minutes>\d{1,6})m)?$/;

/** What `--expires` says: a duration, or `never`. @throws Failure usage */
const expiry = (text: string): GrantTerms =>
  text === 'never' ? { grantExpiresAt: null } : { expiresInSeconds: grantSeconds(text) };

/**
 * How long a grant holds: `90m`, `1h`, `30d`, `1d12h`.
 * @returns seconds
 * @throws Failure usage for another form, and for less than an hour or more than 30 days
 */
function grantSeconds(text: string): number {
  const { days = 0, hours = 0, minutes = 0 } = DURATION.exec(text)?.groups ?? {};
  const seconds = Number(days) * DAY_SECONDS + Number(hours) * HOUR_SECONDS + Number(minutes) * 60;
  if (seconds >= MIN_SECONDS && seconds <= MAX_SECONDS) return seconds;
  throw usage(
    DURATION.test(text)
      ? `a grant holds for 1h to 30d, or with --expires never until it is revoked; ${text} is outside`
      : `${text} is no duration; 90m, 1h, 1d12h, 30d and never are some`,
  );
}
