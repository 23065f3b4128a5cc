import type { ReactNode } from 'react';

/** What each part of the screen of an agent begins with. */
export function TabHeading(props: {
  readonly title: string;
  readonly says?: ReactNode;
  readonly actions?: ReactNode;
}) {
  const { title, says, actions } = props;
  return (
    <div className="flex flex-wrap items-start justify-between gap-3">
      <div className="max-w-2xl">
        <h2 className="text-lg">{title}</h2>
        {says && <p className="text-sm text-dim">{says}</p>}
      </div>
      {actions && <div className="flex flex-wrap gap-3">{actions}</div>}
    </div>
  );
}
