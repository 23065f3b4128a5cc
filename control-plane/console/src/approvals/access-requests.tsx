import { useQuery } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import { meQuery } from '../api/queries.ts';
import { ActionForm } from '../parts/form.tsx';
import { notify } from '../parts/notice.tsx';
import { Section } from '../parts/screen.tsx';
import { vaultQuery } from '../webhook/queries.ts';

/** Whether agents may ask for grants; an admin changes it. */
export function AccessRequests() {
  const { data: vault } = useQuery(vaultQuery);
  const { data: me } = useQuery(meQuery);
  if (vault === undefined) return null;
  const { accessRequests } = vault;
  return (
    <Section id="access-requests" title="Access requests">
      <p className="mt-1">
        {accessRequests
          ? 'An agent may ask for a credential that it has no grant for. Approving makes the grant.'
          : 'Agents may not ask for credentials that they have no grant for.'}
      </p>
      {me?.role === 'admin' && (
        <div className="mt-3">
          <ActionForm
            inline
            submit={accessRequests ? 'Turn off access requests' : 'Allow access requests'}
            action={() => answerOf(api.PATCH('/api/vault', { body: { accessRequests: !accessRequests } }))}
            onDone={(answer) =>
              notify(
                answer.accessRequests ? 'Access requests are allowed.' : 'Access requests are turned off.',
              )
            }
          />
        </div>
      )}
    </Section>
  );
}
