import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { type Schemas } from '../api/client.ts';
import { agentQuery } from '../api/queries.ts';
import { ScreenNotLoaded } from '../parts/failure.tsx';
import { Screen } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { AgentActivity } from './agent-activity.tsx';
import { AgentClients } from './agent-clients.tsx';
import { AgentGrants } from './agent-grants.tsx';
import { AgentPolicies } from './agent-policies.tsx';
import { AgentSettings } from './agent-settings.tsx';
import { ConnectAgent } from './connect/connect-agent.tsx';
import { Status } from './status.tsx';
import { ResumeAgent, SuspendAgent } from './suspend-agent.tsx';
import { AGENT_TABS, type AgentTab } from './tabs.ts';

const route = getRouteApi('/agents/$id');

const NAMES: Readonly<Record<AgentTab, string>> = {
  access: 'Access',
  connect: 'Connect',
  activity: 'Activity',
  policies: 'Policies',
  clients: 'MCP clients',
  settings: 'Settings',
};

/** One agent: what it can reach, how it is let in, what it did, and what restricts it. */
export function AgentDetail() {
  const { id } = route.useParams();
  const { tab = 'access' } = route.useSearch();
  const query = useQuery(agentQuery(id));
  const { data: agent } = query;
  if (agent === undefined) return <ScreenNotLoaded query={query} />;
  return (
    <Screen
      title={agent.name}
      up={{ to: '/agents', name: 'Agents' }}
      actions={agent.status === 'active' && <SuspendAgent agent={agent} />}
    >
      {agent.description !== '' && (
        <p className="mt-1 line-clamp-3 max-w-3xl whitespace-pre-line text-dim wrap-anywhere">
          <bdi>{agent.description}</bdi>
        </p>
      )}
      <Facts agent={agent} />
      {agent.status === 'suspended' && <ResumeAgent agent={agent} />}
      <nav aria-label="Parts of the agent" className="mt-4 border-b border-line">
        <ul className="flex flex-wrap gap-x-1">
          {AGENT_TABS.map((name) => (
            <li key={name}>
              <Link
                to="/agents/$id"
                params={{ id }}
                search={{ tab: name === 'access' ? undefined : name }}
                activeOptions={{ includeSearch: true, explicitUndefined: true }}
                className="-mb-px block border-b-2 border-transparent px-2.5 py-1.5 text-ink no-underline hover:border-line aria-[current=page]:border-accent aria-[current=page]:font-semibold"
              >
                {NAMES[name]}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="mt-4">
        <Tab tab={tab} agent={agent} />
      </div>
    </Screen>
  );
}

function Tab({ tab, agent }: { readonly tab: AgentTab; readonly agent: Schemas['AgentDetail'] }) {
  switch (tab) {
    case 'access':
      return <AgentGrants agent={agent} />;
    case 'connect':
      return <ConnectAgent agent={agent} />;
    case 'activity':
      return <AgentActivity agent={agent} />;
    case 'policies':
      return <AgentPolicies agent={agent} />;
    case 'clients':
      return <AgentClients agent={agent} />;
    case 'settings':
      return <AgentSettings agent={agent} />;
  }
}

function Facts({ agent }: { readonly agent: Schemas['Agent'] }) {
  const facts = [
    ['Status', <Status of={agent.status} />],
    ['Key', <code>{agent.keyPrefix}</code>],
    ['MCP', agent.mcpEnabled ? 'On' : 'Off'],
    ['Last used', <Time at={agent.lastUsedAt} />],
    ['Created', <Time at={agent.createdAt} />],
  ] as const;
  return (
    <dl className="mt-2 flex flex-wrap gap-x-6 gap-y-1 text-[0.925rem]">
      {facts.map(([name, value]) => (
        <div key={name} className="flex gap-x-1.5">
          <dt className="text-dim">{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
