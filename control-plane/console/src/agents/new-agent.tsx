import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { agentQuery } from '../api/queries.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { ActionForm, CheckField, textOf } from '../parts/form.tsx';
import { notify } from '../parts/notice.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { DescriptionField, NameField, SealingKeyField, nameConflict, sealingKeyIn } from './agent-fields.tsx';
import { Connect } from './connect/connect-agent.tsx';
import { GrantFields, createGrant, grantedText } from './grant-form.tsx';

/** Creates an agent; then shows its key, and how it is used. */
export function NewAgent() {
  const navigate = useNavigate();
  const [created, setCreated] = useState<{ readonly agent: Schemas['Agent']; readonly apiKey: string }>();
  if (created !== undefined) return <CreatedAgent {...created} />;
  return (
    <Screen title="New agent" up={{ to: '/agents', name: 'Agents' }}>
      <div className="card mt-4 max-w-2xl pt-2">
        <ActionForm
          submit="Create"
          action={create}
          onDone={setCreated}
          onCancel={() => void navigate({ to: '/agents' })}
        >
          <NameField />
          <DescriptionField />
          <CheckField
            name="mcpEnabled"
            label="Allow MCP"
            hint="Claude Code, Cursor, VS Code and other MCP clients can act as this agent. You can switch it later."
          />
          <details>
            <summary className="cursor-pointer font-medium">Sealed delivery</summary>
            <div className="mt-3">
              <SealingKeyField />
            </div>
          </details>
        </ActionForm>
      </div>
    </Screen>
  );
}

async function create(values: FormData) {
  const sealingKeyThumbprint = await sealingKeyIn(values);
  return answerOf(
    api.POST('/api/agents', {
      body: {
        name: textOf(values, 'name'),
        description: textOf(values, 'description'),
        mcpEnabled: values.has('mcpEnabled'),
        ...(sealingKeyThumbprint !== undefined && { sealingKeyThumbprint }),
      },
    }),
  ).catch(nameConflict);
}

/** The key is in this screen alone, and gone when it is left. */
function CreatedAgent(props: { readonly agent: Schemas['Agent']; readonly apiKey: string }) {
  const { apiKey } = props;
  const { id } = props.agent;
  const { data: agent = props.agent } = useQuery(agentQuery(id));
  const heading = useRef<HTMLSpanElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <Screen
      title="Agent created"
      heading={
        <span ref={heading} tabIndex={-1} className="outline-none">
          <bdi>{agent.name}</bdi> is created
        </span>
      }
      up={{ to: '/agents', name: 'Agents' }}
      actions={
        <Link to="/agents/$id" params={{ id }} className="button">
          Open the agent
        </Link>
      }
    >
      <div className="mt-4 grid grid-cols-[minmax(0,1fr)] gap-4">
        <section aria-label="Key" className="card">
          <OneTimeValue what="Its key" value={apiKey} />
        </section>
        <Section id="grant" title="Give it a credential">
          <div className="max-w-2xl">
            <ActionForm
              submit="Grant"
              action={(values) => createGrant(id, values)}
              onDone={(granted) => notify(grantedText(granted))}
            >
              <GrantFields />
            </ActionForm>
          </div>
        </Section>
        <Section id="connect" title="Connect">
          <Connect agent={agent} apiKey={apiKey} />
        </Section>
      </div>
    </Screen>
  );
}
