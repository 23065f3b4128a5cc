import type { ReactNode } from 'react';
import { Section } from '../parts/screen.tsx';
import { CallerLink, CredentialLink } from './links.tsx';
import type { Caller } from './queries.ts';
import type { Axis } from './use-axes.ts';

/** What the matrix has at its sides, where there is no room for it. */
export function AxisLists(props: { readonly callers: Axis<Caller>; readonly credentials: Axis<string> }) {
  const { callers, credentials } = props;
  return (
    <div className="mt-4 grid grid-cols-[minmax(0,1fr)] gap-4">
      <AxisList id="callers" title="What can it reach?" axis={callers}>
        {callers.items.map((caller) => (
          <li key={caller.id} className="flex py-1.5">
            <CallerLink caller={caller} data-row="" className="text-base" />
          </li>
        ))}
      </AxisList>
      <AxisList id="credentials" title="Who can reach it?" axis={credentials}>
        {credentials.items.map((name) => (
          <li key={name} className="flex py-1.5">
            <CredentialLink name={name} data-row="" className="text-base" />
          </li>
        ))}
      </AxisList>
    </div>
  );
}

function AxisList(props: {
  readonly id: string;
  readonly title: string;
  readonly axis: Axis<unknown>;
  readonly children: ReactNode;
}) {
  const { id, title, axis, children } = props;
  return (
    <Section id={id} title={title}>
      <ul className="mt-2 divide-y divide-line" aria-busy={axis.isLoading}>
        {children}
      </ul>
      {!axis.isWhole && (
        <button type="button" className="button mt-3" onClick={axis.loadMore}>
          Show more
        </button>
      )}
    </Section>
  );
}
