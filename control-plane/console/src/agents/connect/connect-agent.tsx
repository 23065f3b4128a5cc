import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { grantsQuery, overviewQuery } from '../../api/queries.ts';
import { Choice } from '../../parts/choice.tsx';
import { OneTimeValue } from '../../parts/copy.tsx';
import { Steps } from '../../parts/steps.tsx';
import { RevealKey } from '../agent-key.tsx';
import { McpSwitch } from '../mcp-switch.tsx';
import { TabHeading } from '../tab-heading.tsx';
import { CLIENTS } from './snippets.ts';

/** What stands for a key that is not shown. */
const NO_KEY = 'svagent_…';

/** How programs act as an agent, with its key once that is revealed. */
export function ConnectAgent({ agent }: { readonly agent: Schemas['Agent'] }) {
  const [apiKey, setApiKey] = useState<string>();
  if (agent.status === 'deleted') return <p>The agent is deleted: nothing can act as it.</p>;
  return (
    <>
      <TabHeading title="Connect" says="Ready to paste, for this agent and this control plane." />
      <div className="card mt-4">
        {apiKey === undefined ? (
          <RevealKey id={agent.id} onDone={(revealed) => setApiKey(revealed.apiKey)} />
        ) : (
          <OneTimeValue what="The key" value={apiKey} />
        )}
      </div>
      <div className="card mt-4">
        <Connect agent={agent} apiKey={apiKey} />
      </div>
    </>
  );
}

/** A choice of programs, and what to paste where. @param props.apiKey undefined: something else stands for it */
export function Connect(props: { readonly agent: Schemas['Agent']; readonly apiKey: string | undefined }) {
  const { agent, apiKey = NO_KEY } = props;
  const [clientId, setClientId] = useState(CLIENTS[0]?.id);
  const [byKey, setByKey] = useState(false);
  const [chosen, setChosen] = useState<string>();
  const { data: grants } = useQuery(grantsQuery(agent.id, undefined));
  const services = grants?.items.map(({ serviceName }) => serviceName) ?? [];
  const client = CLIENTS.find(({ id }) => id === clientId);
  if (client === undefined) return null;
  const service = chosen !== undefined && services.includes(chosen) ? chosen : (services[0] ?? 'github');
  const facts = { origin: window.location.origin, key: apiKey, service, agent: agent.name };
  const steps = byKey && client.withKey ? client.withKey(facts) : client.steps(facts);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Choice
        legend="Program"
        name="client"
        options={CLIENTS.map(({ id, name }) => [id, name])}
        value={client.id}
        onChange={setClientId}
      />
      {client.withKey && (
        <Choice
          legend="Signs in"
          name="sign-in"
          options={[
            ['browser', 'In a browser'],
            ['key', 'With the key'],
          ]}
          value={byKey ? 'key' : 'browser'}
          onChange={(value) => setByKey(value === 'key')}
        />
      )}
      {client.mcp ? (
        !agent.mcpEnabled && <McpIsOff agent={agent} />
      ) : (
        <ServiceChoice services={services} value={service} onChange={setChosen} />
      )}
      <Fetchable agent={agent} grants={grants} />
      <Steps steps={steps} />
    </div>
  );
}

/** How many credentials are named. */
const NAMED = 5;

/** What the program will be able to fetch. */
function Fetchable(props: {
  readonly agent: Schemas['Agent'];
  readonly grants: { readonly items: readonly Schemas['Grant'][]; readonly nextCursor?: string } | undefined;
}) {
  const { agent, grants } = props;
  const { data: locked } = useQuery({ ...overviewQuery, select: ({ vault }) => vault.locked });
  if (grants === undefined) return null;
  const live = grants.items.filter(({ status }) => status === 'active');
  const isMore = live.length > NAMED || grants.nextCursor !== undefined;
  return (
    <p className={live.length === 0 ? 'text-warn' : 'wrap-anywhere'}>
      {live.length === 0 ? (
        'This agent can fetch nothing yet.'
      ) : (
        <>
          This agent can fetch{' '}
          {live.slice(0, NAMED).map(({ serviceName }, index) => (
            <span key={serviceName}>
              {index > 0 && ', '}
              <bdi className="font-medium">{serviceName}</bdi>
            </span>
          ))}
          {isMore && ' and more'}
          {locked && <span className="text-warn"> once the vault is unlocked</span>}.
        </>
      )}{' '}
      <Link to="/agents/$id" params={{ id: agent.id }} search={{ tab: 'access' }}>
        Grant access
      </Link>
    </p>
  );
}

function McpIsOff({ agent }: { readonly agent: Schemas['Agent'] }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-md border border-warn px-3 py-2">
      <p>
        MCP is off for this agent: its clients are denied with <code>MCP_DISABLED</code>.
      </p>
      <McpSwitch agent={agent} />
    </div>
  );
}

function ServiceChoice(props: {
  readonly services: readonly string[];
  readonly value: string;
  readonly onChange: (service: string) => void;
}) {
  const { services, value, onChange } = props;
  if (services.length === 0) return null;
  return (
    <label className="grid justify-items-start gap-1">
      <span className="text-sm text-dim">Credential</span>
      <select
        value={value}
        onChange={({ target }) => onChange(target.value)}
        className="max-w-full rounded-md border border-dim bg-paper px-2 py-1.5"
      >
        {services.map((service) => (
          <option key={service}>{service}</option>
        ))}
      </select>
    </label>
  );
}
