import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { ApiFailure, type Schemas } from '../api/client.ts';
import { agentQuery } from '../api/queries.ts';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { Failure, NotFound } from '../parts/failure.tsx';
import { AgentGrants } from './agent-grants.tsx';
import { Status } from './status.tsx';

const route = getRouteApi('/agents/$id');

/** One agent: what it is, and what it can reach. */
export function AgentDetail() {
  const { id } = route.useParams();
  const { data: agent, error, refetch } = useQuery(agentQuery(id));
  if (error instanceof ApiFailure && error.code === 'NOT_FOUND') return <NotFound />;
  if (error) return <Failure error={error} reset={() => void refetch()} />;
  if (agent === undefined) return <p className="text-dim">Loading…</p>;
  return (
    <Screen title={agent.name} up={{ to: '/agents', name: 'Agents' }}>
      {agent.description !== '' && (
        <p className="mt-1 text-dim wrap-anywhere">
          <bdi>{agent.description}</bdi>
        </p>
      )}
      <div className="mt-4 grid gap-4">
        <Section id="facts" title="Agent">
          <Facts facts={factsOf(agent)} />
        </Section>
        <AgentGrants id={id} name={agent.name} />
        <Policies policies={agent.policies} />
      </div>
    </Screen>
  );
}

const factsOf = (agent: Schemas['AgentDetail']) =>
  [
    ['Status', <Status of={agent.status} />],
    ['Id', <code>{agent.id}</code>],
    ['Key', <code>{agent.keyPrefix}</code>],
    ['Sealing key', agent.sealingKeyThumbprint ? <code>{agent.sealingKeyThumbprint}</code> : 'None'],
    ['MCP', agent.mcpEnabled ? 'On' : 'Off'],
    ['Created', <Time at={agent.createdAt} />],
    ['Last used', <Time at={agent.lastUsedAt} />],
  ] as const;

function Policies({ policies }: Pick<Schemas['AgentDetail'], 'policies'>) {
  return (
    <Section id="policies" title="Policies">
      {policies.length === 0 && <p className="mt-2 text-dim">No policy is attached to the agent itself.</p>}
      <ul className="mt-2 grid gap-1">
        {policies.map(({ id, name, enabled, ruleTypes }) => (
          <li key={id} className="wrap-anywhere">
            <bdi>{name}</bdi> <span className="text-sm text-dim">{ruleTypes.join(', ')}</span>
            {!enabled && <span className="text-sm text-warn"> off</span>}
          </li>
        ))}
      </ul>
    </Section>
  );
}
