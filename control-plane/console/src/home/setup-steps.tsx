import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { setupQuery } from '../api/queries.ts';
import type { Schemas } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';

type Step = Schemas['SetupGuide']['steps'][number]['step'];

const STEPS: Readonly<Record<Step, { readonly title: string; readonly how: ReactNode }>> = {
  'bind-webhook': {
    title: 'Bind the webhook, which holds your credentials',
    how: (
      <>
        <Link to="/webhook">Bind a webhook</Link>
      </>
    ),
  },
  'store-credential': { title: 'Store a credential', how: <code>svault add github</code> },
  'create-agent': { title: 'Create an agent', how: <code>svault agents create --name first</code> },
  'grant-access': {
    title: 'Grant the agent access to the credential',
    how: <code>svault grant first github --expires 1h</code>,
  },
  'first-access': {
    title: 'Let the agent fetch it',
    how: <code>SVAULT_KEY=KEY-OF-THE-AGENT svault get github</code>,
  },
};

const STATES = { done: 'Done', open: 'To do', dismissed: 'Skipped' } as const;

/** The way from an empty account to the first credential that an agent fetches. Gone when all is done. */
export function SetupSteps() {
  const { data, error, refetch } = useQuery(setupQuery);
  if (error) return <Failure error={error} reset={() => void refetch()} />;
  if (data === undefined || data.complete) return null;
  const next = data.steps.find(({ state }) => state === 'open')?.step;
  return (
    <section aria-labelledby="setup" className="card">
      <h2 id="setup">Set up</h2>
      <ol className="mt-3 grid gap-3">
        {data.steps.map(({ step, state }) => (
          <li key={step} data-step={step} data-state={state} className="grid grid-cols-[5rem_1fr] gap-x-3">
            <span className={`text-sm/6 ${state === 'done' ? 'text-good' : 'text-dim'}`}>
              {STATES[state]}
            </span>
            <div className="min-w-0">
              <p className={step === next ? 'font-semibold' : undefined}>{STEPS[step].title}</p>
              {state === 'open' && <p className="text-dim">{STEPS[step].how}</p>}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
