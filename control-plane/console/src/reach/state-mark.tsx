import type { Schemas } from '../api/client.ts';

export type ReachState = Schemas['ReachMatrix']['rows'][number][number];

export const STATE_NAMES: Readonly<Record<ReachState, string>> = {
  allowed: 'Allowed',
  conditional: 'Policies decide',
  denied: 'Denied now',
  none: 'No grant',
};

/** A state as a shape, which tells more than a colour. */
export function StateMark({ state }: { readonly state: ReachState }) {
  return (
    <svg viewBox="0 0 16 16" className="size-4" aria-hidden="true">
      {SHAPES[state]}
    </svg>
  );
}

const SHAPES = {
  allowed: <circle cx="8" cy="8" r="5" className="fill-good" />,
  conditional: (
    <>
      <circle cx="8" cy="8" r="4.25" className="fill-none stroke-good stroke-[1.5]" />
      <path d="M8 3.75a4.25 4.25 0 0 1 0 8.5z" className="fill-good" />
    </>
  ),
  denied: <path d="m4 4 8 8m0-8-8 8" className="fill-none stroke-warn stroke-2" />,
  none: <circle cx="8" cy="8" r="1" className="fill-dim" />,
} satisfies Record<ReachState, React.ReactNode>;

/** What the shapes mean. */
export const Legend = () => (
  <ul aria-label="Legend" className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
    {(['allowed', 'conditional', 'denied', 'none'] as const).map((state) => (
      <li key={state} className="flex items-center gap-1.5">
        <StateMark state={state} />
        {STATE_NAMES[state]}
      </li>
    ))}
  </ul>
);

/** What a pair of the list comes to, by its first channel: REST of an agent. */
export function stateOf({ channels: [first], policies }: Schemas['Reach']): ReachState {
  if (first?.denial !== null) return 'denied';
  return policies.length > 0 ? 'conditional' : 'allowed';
}
