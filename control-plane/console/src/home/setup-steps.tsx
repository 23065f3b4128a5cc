import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { firstAgentQuery, setupQuery } from '../api/queries.ts';
import type { Schemas } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';

type Step = Schemas['SetupGuide']['steps'][number]['step'];

/** What to do for a step: in the console, or by the command line. */
interface Way {
  readonly title: string;
  readonly command?: string;
  /** @param agent the first one, where there is one */
  readonly link?: (agent: Schemas['Agent'] | undefined) => ReactNode;
}

const ofAgent =
  (text: string, tab?: 'connect'): NonNullable<Way['link']> =>
  (agent) =>
    agent && (
      <Link to="/agents/$id" params={{ id: agent.id }} search={{ tab }}>
        {text} <bdi>{agent.name}</bdi>
      </Link>
    );

const STEPS: Readonly<Record<Step, Way>> = {
  'bind-webhook': {
    title: 'Bind the webhook, which holds your credentials',
    link: () => <Link to="/webhook">Bind a webhook</Link>,
  },
  'store-credential': {
    title: 'Store a credential',
    command: 'svault add github',
    link: () => <Link to="/add-credential">Add a credential</Link>,
  },
  'create-agent': {
    title: 'Create an agent',
    command: 'svault agents create --name first',
    link: () => <Link to="/agents/new">New agent</Link>,
  },
  'grant-access': {
    title: 'Grant the agent access to the credential',
    command: 'svault grant first github --expires 1h',
    link: ofAgent('Grant access to'),
  },
  'first-access': {
    title: 'Let the agent fetch it',
    command: 'SVAULT_KEY=KEY-OF-THE-AGENT svault get github',
    link: ofAgent('Connect', 'connect'),
  },
};

const STATES = { done: 'Done', open: 'To do', dismissed: 'Skipped' } as const;

/** The way from an empty account to the first credential that an agent fetches. Gone when all is done. */
export function SetupSteps() {
  const { data, error, refetch } = useQuery(setupQuery);
  const { data: agents } = useQuery({ ...firstAgentQuery, enabled: data?.complete === false });
  if (error && data === undefined) return <Failure error={error} reset={() => void refetch()} />;
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
              {state === 'open' && <How {...STEPS[step]} agent={agents?.items[0]} />}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function How({ command, link, agent }: Way & { readonly agent: Schemas['Agent'] | undefined }) {
  const linked = link?.(agent);
  return (
    <p className="text-dim">
      {linked}
      {linked && command && ', or '}
      {command && <code>{command}</code>}
    </p>
  );
}
