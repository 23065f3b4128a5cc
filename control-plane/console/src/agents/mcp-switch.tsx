import { type Schemas, answerOf, api } from '../api/client.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { ActionForm } from '../parts/form.tsx';
import { notify } from '../parts/notice.tsx';

const setMcp = (id: string, mcpEnabled: boolean) =>
  answerOf(api.PATCH('/api/agents/{id}', { params: { path: { id } }, body: { mcpEnabled } }));

/** Lets MCP clients act as an agent, or no longer. */
export function McpSwitch({ agent: { id, name, mcpEnabled } }: { readonly agent: Schemas['Agent'] }) {
  if (!mcpEnabled)
    return (
      <ActionForm
        inline
        submit="Switch MCP on"
        action={() => setMcp(id, true)}
        onDone={() => notify('MCP is on: MCP clients can act as this agent.')}
      />
    );
  return (
    <ConfirmDialog
      trigger="Switch MCP off"
      title={
        <>
          Switch MCP off for <bdi>{name}</bdi>?
        </>
      }
      submit="Switch off"
      action={() => setMcp(id, false)}
      onDone={() => notify('MCP is off.')}
    >
      <p>
        Each call of an MCP client that acts as this agent is denied with <code>MCP_DISABLED</code>, by
        session and by key. Programs that ask over HTTP with the key keep working.
      </p>
    </ConfirmDialog>
  );
}
