import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { textOf } from '../parts/form.tsx';
import { notify } from '../parts/notice.tsx';
import { Facts, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { DescriptionField, NameField, SealingKeyField, nameConflict, sealingKeyIn } from './agent-fields.tsx';
import { AgentKey } from './agent-key.tsx';
import { McpSwitch } from './mcp-switch.tsx';

interface OfAgent {
  readonly agent: Schemas['Agent'];
}

/** What is kept about an agent. A deleted one is shown as it was. */
export function AgentSettings({ agent }: OfAgent) {
  const isDeleted = agent.status === 'deleted';
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Section id="identity" title="Agent" actions={!isDeleted && <EditAgent agent={agent} />}>
        <Facts
          facts={[
            ['Name', <bdi>{agent.name}</bdi>],
            ['Description', agent.description === '' ? 'None' : <Description text={agent.description} />],
            ['Id', <code>{agent.id}</code>],
            ['Created', <Time at={agent.createdAt} />],
          ]}
        />
      </Section>
      {!isDeleted && <AgentKey agent={agent} />}
      <Section
        id="sealing-key"
        title="Sealing key"
        actions={!isDeleted && <SealingKeyActions agent={agent} />}
      >
        <p className="mt-1 text-sm text-dim">
          Credentials whose delivery is sealed are encrypted to this key, and only the agent can open them.
        </p>
        <Facts
          facts={[
            ['Thumbprint', agent.sealingKeyThumbprint ? <code>{agent.sealingKeyThumbprint}</code> : 'None'],
          ]}
        />
      </Section>
      {!isDeleted && (
        <>
          <Section id="mcp" title="MCP" actions={<McpSwitch agent={agent} />}>
            <p className="mt-1">
              {agent.mcpEnabled
                ? 'On: MCP clients can act as this agent, with its key or in a session that a person allows.'
                : 'Off: MCP clients that act as this agent are denied with MCP_DISABLED.'}
            </p>
          </Section>
          <Section id="delete" title="Delete" actions={<DeleteAgent agent={agent} />}>
            <p className="mt-1">To stop it for a while, suspend it: that can be undone.</p>
          </Section>
        </>
      )}
    </div>
  );
}

const Description = ({ text }: { readonly text: string }): ReactNode => (
  <bdi className="whitespace-pre-line">{text}</bdi>
);

function EditAgent({ agent: { id, name, description } }: OfAgent) {
  return (
    <FormDialog
      trigger="Edit"
      title="Edit the agent"
      submit="Save"
      action={(values) =>
        answerOf(
          api.PATCH('/api/agents/{id}', {
            params: { path: { id } },
            body: { name: textOf(values, 'name'), description: textOf(values, 'description') },
          }),
        ).catch(nameConflict)
      }
      onDone={() => notify('The agent is saved.')}
    >
      <NameField defaultValue={name} />
      <DescriptionField defaultValue={description} />
    </FormDialog>
  );
}

function SealingKeyActions({ agent: { id, name, sealingKeyThumbprint } }: OfAgent) {
  const set = (thumbprint: string | null) =>
    answerOf(
      api.PATCH('/api/agents/{id}', {
        params: { path: { id } },
        body: { sealingKeyThumbprint: thumbprint },
      }),
    );
  return (
    <>
      <FormDialog
        trigger={sealingKeyThumbprint === undefined ? 'Set' : 'Replace'}
        title={sealingKeyThumbprint === undefined ? 'Set the sealing key' : 'Replace the sealing key'}
        submit="Save"
        action={async (values) => set((await sealingKeyIn(values)) ?? null)}
        onDone={() => notify('The sealing key is set.')}
      >
        <SealingKeyField required />
        {sealingKeyThumbprint !== undefined && (
          <p>
            Credentials that are sealed to the former key alone are denied with{' '}
            <code>DELIVERY_NOT_ALLOWED</code> until they are stored for the new one.
          </p>
        )}
      </FormDialog>
      {sealingKeyThumbprint !== undefined && (
        <ConfirmDialog
          trigger="Remove"
          title="Remove the sealing key?"
          submit="Remove"
          action={() => set(null)}
          onDone={() => notify('The sealing key is removed.')}
        >
          <p>
            Requests of <bdi>{name}</bdi> for sealed credentials are denied with{' '}
            <code>DELIVERY_NOT_ALLOWED</code>. Its other credentials keep working.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function DeleteAgent({ agent: { id, name } }: OfAgent) {
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      trigger="Delete"
      title={
        <>
          Delete <bdi>{name}</bdi>?
        </>
      }
      submit="Delete for good"
      action={() => answerOf(api.DELETE('/api/agents/{id}', { params: { path: { id } } }))}
      onDone={() => {
        notify('The agent is deleted.');
        return navigate({ to: '/agents' });
      }}
    >
      <p>
        Each request with its key, of its MCP clients and of proxies that act for it is denied with{' '}
        <code>AGENT_INACTIVE</code> from now on. Its grants are deleted and its policies detached. Nothing
        brings them or the key back.
      </p>
      <p className="mt-2 text-dim">The credentials stay, and so do its events in the log.</p>
    </ConfirmDialog>
  );
}
