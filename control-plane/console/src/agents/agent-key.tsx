import { useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { ActionForm } from '../parts/form.tsx';
import { Facts, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';

interface OfAgent {
  readonly agent: Schemas['Agent'];
}

/** The key of an agent: its first characters, shown once more, or replaced. */
export function AgentKey({ agent }: OfAgent) {
  const [key, setKey] = useState<{ readonly apiKey: string; readonly isNew: boolean }>();
  const rotated = ({ apiKey }: { readonly apiKey: string }): void => setKey({ apiKey, isNew: true });
  return (
    <Section id="key" title="Key" actions={<RotateKey agent={agent} onDone={rotated} />}>
      <Facts
        facts={[
          ['Begins with', <code>{agent.keyPrefix}</code>],
          ['Last used', <Time at={agent.lastUsedAt} />],
        ]}
      />
      {key === undefined ? (
        <div className="mt-3">
          <RevealKey id={agent.id} onDone={({ apiKey }) => setKey({ apiKey, isNew: false })} />
        </div>
      ) : (
        <div className="mt-3">
          <OneTimeValue what={key.isNew ? 'The new key' : 'The key'} value={key.apiKey} />
          {key.isNew && (
            <p className="mt-2">
              The former key is denied with <code>INVALID_KEY</code>. Give the new one to each program, CI
              secret and MCP configuration that had it.
            </p>
          )}
          <button type="button" className="button mt-3" onClick={() => setKey(undefined)}>
            Hide the key
          </button>
        </div>
      )}
    </Section>
  );
}

/** Shows the key once more, with an event. */
export function RevealKey(props: {
  readonly id: string;
  readonly onDone: (result: { readonly apiKey: string }) => void;
}) {
  const { id, onDone } = props;
  return (
    <ActionForm
      inline
      submit="Reveal the key"
      action={() => answerOf(api.POST('/api/agents/{id}/reveal-key', { params: { path: { id } } }))}
      onDone={onDone}
    >
      <p className="text-sm text-dim">The audit log records who reveals the key. At most 20 times an hour.</p>
    </ActionForm>
  );
}

function RotateKey(props: OfAgent & { readonly onDone: (result: { readonly apiKey: string }) => void }) {
  const { agent, onDone } = props;
  const { id, name } = agent;
  return (
    <ConfirmDialog
      trigger="Rotate"
      title={
        <>
          Rotate the key of <bdi>{name}</bdi>?
        </>
      }
      submit="Rotate"
      action={() => answerOf(api.POST('/api/agents/{id}/rotate-key', { params: { path: { id } } }))}
      onDone={onDone}
    >
      <p>
        The present key, <code>{agent.keyPrefix}</code>, is denied with <code>INVALID_KEY</code> from now on.
        Whatever has it stops working until you give it the new key: programs, CI secrets, MCP configurations.
      </p>
      <p className="mt-2 text-dim">
        {agent.lastUsedAt === null ? (
          'It has not been used yet.'
        ) : (
          <>
            It was last used <Time at={agent.lastUsedAt} />.
          </>
        )}{' '}
        MCP clients that a person allowed in a browser have no key, and keep working.
      </p>
    </ConfirmDialog>
  );
}
