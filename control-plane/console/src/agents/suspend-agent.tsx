import { type Schemas, answerOf, api } from '../api/client.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { ActionForm } from '../parts/form.tsx';
import { notify } from '../parts/notice.tsx';

interface OfAgent {
  readonly agent: Schemas['Agent'];
}

/** Blocks an agent everywhere, once that is confirmed. */
export function SuspendAgent({ agent: { id, name } }: OfAgent) {
  return (
    <ConfirmDialog
      trigger="Suspend"
      title={
        <>
          Suspend <bdi>{name}</bdi>?
        </>
      }
      submit="Suspend"
      action={() => answerOf(api.POST('/api/agents/{id}/suspend', { params: { path: { id } } }))}
      onDone={() => notify('The agent is suspended.')}
    >
      <p>
        Each of its requests is denied with <code>AGENT_INACTIVE</code> from now on: those with its key, those
        of MCP clients that act as it, and those of proxies that act for it.
      </p>
      <p className="mt-2 text-dim">
        Grants, policies and the key stay. Credentials that it has fetched already stay with it.
      </p>
    </ConfirmDialog>
  );
}

/** Says that an agent is suspended, and ends it. */
export function ResumeAgent({ agent: { id } }: OfAgent) {
  return (
    <div className="card mt-3 border-warn">
      <p>
        <span className="font-medium text-warn">Suspended.</span> Each request of this agent is denied with{' '}
        <code>AGENT_INACTIVE</code>.
      </p>
      <ActionForm
        submit="Resume"
        action={() => answerOf(api.POST('/api/agents/{id}/resume', { params: { path: { id } } }))}
        onDone={() => notify('The agent is active again.')}
      />
    </div>
  );
}
