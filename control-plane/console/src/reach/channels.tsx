import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';
import { agentQuery } from '../api/queries.ts';
import { destinationProblemOf } from '../connect/destination.ts';
import { ruleWords } from '../policies/rule-words.ts';
import { CHANNEL_NAMES, DENIALS, type denialsWithoutGrant } from './denials.ts';
import { type Cell, type Reach, callerQuery, isProxyId, simulationQuery } from './queries.ts';

type Channel = ReturnType<typeof denialsWithoutGrant>[number] | Reach['channels'][number];
type Denial = NonNullable<Channel['denial']>;

interface Props {
  readonly cell: Cell;
  /** Nothing where there is no grant. */
  readonly pair?: Reach | undefined;
}

/** What a request meets on each channel, those with the same answer together. */
export function Channels({ channels, ...of }: Props & { readonly channels: readonly Channel[] }) {
  const answers = [...new Set(channels.map(({ denial }) => denial))];
  return (
    <ul aria-label="Channels" className="mt-3 divide-y divide-line border-y border-line">
      {answers.map((answer) => (
        <li key={answer} className="grid gap-x-4 py-2 sm:grid-cols-[6rem_minmax(0,1fr)]">
          <span className="text-sm/6 text-dim">
            {channels
              .filter(({ denial }) => denial === answer)
              .map(({ channel }) => CHANNEL_NAMES[channel])
              .join(', ')}
          </span>
          {answer === null ? (
            <Allowed {...of} />
          ) : (
            <span className="min-w-0 wrap-anywhere">
              <span className="text-warn">Denied now</span> with <code>{answer}</code>.{' '}
              <Reason {...of} denial={answer} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Rules that deny whatever address a request comes from. */
const CERTAIN: readonly string[] = ['time_window', 'max_usage', 'manual_approval', 'request_filter'];

function Allowed({ cell, pair }: Props) {
  const isDecided = pair !== undefined && pair.policies.length > 0;
  const { data } = useQuery({ ...simulationQuery(cell), enabled: isDecided });
  if (!isDecided) return <span className="text-good">Allowed now; no policy limits it</span>;
  const denying = data?.rules.find(({ allowed, rule }) => allowed === false && CERTAIN.includes(rule));
  const counting = data?.rules.filter(({ used }) => used !== undefined) ?? [];
  const { callerId, serviceName: service } = cell;
  return (
    <span className="min-w-0 wrap-anywhere">
      {denying ? (
        <>
          <span className="text-warn">
            {denying.rule === 'manual_approval' ? 'Waits for an approval' : 'Denied now'}
          </span>{' '}
          by <bdi>{denying.policy}</bdi>: {partText(denying)}.
        </>
      ) : (
        'Policies decide.'
      )}{' '}
      {counting
        .filter((part) => part !== denying)
        .map((part) => (
          <span key={`${part.targetType} ${part.policyId} ${part.position}`}>
            <bdi>{part.policy}</bdi>: {partText(part)}.{' '}
          </span>
        ))}
      <Link
        to="/policies/simulate"
        search={isProxyId(callerId) ? { proxy: callerId, service } : { agent: callerId, service }}
      >
        Simulate
      </Link>
    </span>
  );
}

const partText = ({ settings, used }: Schemas['Simulation']['rules'][number]): string =>
  settings.type === 'max_usage' && used !== undefined
    ? `${used.toLocaleString('en')} of ${settings.limit.toLocaleString('en')} used`
    : ruleWords(settings);

/** What a denial means here, and where it is ended. */
function Reason({ denial, cell, pair }: Props & { readonly denial: Denial }): ReactNode {
  const { text } = DENIALS[denial];
  const agent = { id: cell.callerId };
  switch (denial) {
    case 'AGENT_INACTIVE':
      return <Inactive callerId={cell.callerId} />;
    case 'DESTINATION_NOT_ALLOWED':
      return <Destination cell={cell} pair={pair} />;
    case 'MCP_DISABLED':
      return (
        <>
          {text}{' '}
          <Link to="/agents/$id" params={agent} search={{ tab: 'clients' }}>
            Turn it on
          </Link>
        </>
      );
    case 'NO_GRANT':
    case 'GRANT_EXPIRED':
      return (
        <>
          {text}{' '}
          <Link to="/agents/$id" params={agent} search={{ tab: 'access' }}>
            {denial === 'NO_GRANT' ? 'Grant access' : 'Renew it'}
          </Link>
        </>
      );
    default:
      return (
        <>
          {text} <Link to="/webhook">Open the webhook</Link>
        </>
      );
  }
}

/** Of an agent, or of the agent that a proxy acts for. */
function Inactive({ callerId }: { readonly callerId: string }) {
  const caller = useQuery(callerQuery(callerId));
  const id = isProxyId(callerId) ? caller.data?.proxy?.agentId : callerId;
  const { data: agent } = useQuery({ ...agentQuery(id ?? ''), enabled: id !== undefined });
  if (agent === undefined) return DENIALS.AGENT_INACTIVE.text;
  return (
    <>
      {isProxyId(callerId) ? (
        <>
          Its agent <bdi>{agent.name}</bdi>
        </>
      ) : (
        'The agent'
      )}{' '}
      is {agent.status}.{' '}
      {agent.status === 'suspended' && (
        <Link to="/agents/$id" params={{ id: agent.id }}>
          Resume it
        </Link>
      )}
    </>
  );
}

/** What is not sealed with the credential, and the command that adds it. */
function Destination({ cell: { callerId, serviceName }, pair }: Props) {
  const { data } = useQuery(callerQuery(callerId));
  const { allowedHosts, allowedHeaders, allowedQuery } = pair?.credential ?? {};
  const problem =
    data?.proxy && allowedHosts && allowedHeaders
      ? destinationProblemOf(data.proxy, serviceName, {
          allowedHosts,
          allowedHeaders,
          allowedQuery,
        })
      : undefined;
  if (problem === undefined) return DENIALS.DESTINATION_NOT_ALLOWED.text;
  return (
    <>
      {problem.text} Add it where the{' '}
      <Link to="/credentials/$serviceName" params={{ serviceName }}>
        credential
      </Link>{' '}
      is replaced, or in a terminal: <code>{problem.command}</code>
    </>
  );
}
