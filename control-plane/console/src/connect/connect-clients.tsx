import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { CLIENTS } from '../agents/connect/snippets.ts';
import { Choice } from '../parts/choice.tsx';
import { Section } from '../parts/screen.tsx';
import { Steps } from '../parts/steps.tsx';

const MCP_CLIENTS = CLIENTS.filter(({ mcp }) => mcp);

/** How an MCP client is let in to act as an agent. */
export function ConnectClients() {
  const [id, setId] = useState(MCP_CLIENTS[0]?.id);
  const [byKey, setByKey] = useState(false);
  const client = MCP_CLIENTS.find((one) => one.id === id);
  if (client === undefined) return null;
  const facts = { origin: window.location.origin, key: 'svagent_…', service: '', agent: '' };
  return (
    <Section id="clients" title={`Let ${client.name} in`}>
      <p className="mt-1 text-dim">
        It acts as an agent of yours: the program itself fetches the credentials that the agent is granted.
        Choose one that has MCP on, in <Link to="/agents">Agents</Link>.
      </p>
      <div className="mt-3 grid grid-cols-[minmax(0,1fr)] gap-4">
        <div className="flex flex-wrap gap-x-8 gap-y-3">
          <Choice
            legend="Program"
            name="client"
            options={MCP_CLIENTS.map((one) => [one.id, one.name])}
            value={client.id}
            onChange={setId}
          />
          <Choice
            legend="Signs in"
            name="sign-in"
            options={[
              ['browser', 'In a browser'],
              ['key', 'With the key of an agent'],
            ]}
            value={byKey ? 'key' : 'browser'}
            onChange={(value) => setByKey(value === 'key')}
          />
        </div>
        <Steps steps={(byKey && client.withKey ? client.withKey : client.steps)(facts)} />
        {byKey && <p className="text-sm text-dim">The page of an agent reveals its key, under Connect.</p>}
      </div>
    </Section>
  );
}
