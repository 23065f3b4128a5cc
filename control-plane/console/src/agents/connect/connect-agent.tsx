import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { grantsQuery } from '../../api/queries.ts';
import { OneTimeValue, Snippet } from '../../parts/copy.tsx';
import { RevealKey } from '../agent-key.tsx';
import { McpSwitch } from '../mcp-switch.tsx';
import { TabHeading } from '../tab-heading.tsx';
import { CLIENTS, type Step } from './snippets.ts';

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
  const facts = { origin: window.location.origin, key: apiKey, service };
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
      <Steps steps={steps} />
      <p className="text-sm text-dim">
        More: <code>docs/guides/{client.guide}.md</code>
      </p>
    </div>
  );
}

/** One of a few, all of which are seen. */
function Choice(props: {
  readonly legend: string;
  readonly name: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { legend, name, options, value, onChange } = props;
  return (
    <fieldset>
      <legend className="text-sm text-dim">{legend}</legend>
      <div className="mt-1 flex flex-wrap gap-1.5">
        {options.map(([option, text]) => (
          <label
            key={option}
            className="cursor-pointer rounded-md border border-line px-2.5 py-1 text-[0.925rem] has-checked:border-accent has-checked:bg-accent/10 has-checked:font-medium has-checked:text-accent has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name={name}
              value={option}
              checked={option === value}
              onChange={() => onChange(option)}
              className="sr-only"
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
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
  if (services.length === 0)
    return (
      <p className="text-warn">
        The agent has no grant yet: these fetch <code>{value}</code> once you grant it.
      </p>
    );
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

function Steps({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <ol className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {steps.map(({ says, text }, index) => (
        <li key={says} className="grid grid-cols-[minmax(0,1fr)] gap-1.5">
          <p>
            {steps.length > 1 && <span className="mr-1.5 text-dim">{index + 1}.</span>}
            {says}
            {text !== undefined && ':'}
          </p>
          {text !== undefined && <Snippet text={text} what={says} />}
        </li>
      ))}
    </ol>
  );
}
