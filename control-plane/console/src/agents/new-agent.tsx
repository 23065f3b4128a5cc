import { useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { DialogWindow, FormDialog } from '../parts/dialog.tsx';
import { TextField, textOf } from '../parts/form.tsx';

/** Creates an agent, and then shows its key. */
export function NewAgent() {
  const [created, setCreated] = useState<{ readonly agent: Schemas['Agent']; readonly apiKey: string }>();
  return (
    <>
      <FormDialog
        primary
        trigger="New agent"
        title="New agent"
        submit="Create"
        action={(values) =>
          answerOf(
            api.POST('/api/agents', {
              body: { name: textOf(values, 'name'), description: textOf(values, 'description') },
            }),
          )
        }
        onDone={setCreated}
      >
        <TextField name="name" label="Name" required maxLength={100} />
        <TextField name="description" label="Description" />
      </FormDialog>
      <DialogWindow
        title="The agent is created"
        open={created !== undefined}
        onOpenChange={() => setCreated(undefined)}
      >
        {created && <OneTimeValue what="Key" value={created.apiKey} />}
        <button type="button" className="button mt-4" onClick={() => setCreated(undefined)}>
          Close
        </button>
      </DialogWindow>
    </>
  );
}
