import type { ReactNode } from 'react';

/** The way through a list whose pages the server makes. The page before is where the browser's back button leads. */
export function PageLinks(props: {
  readonly name: string;
  readonly first: ReactNode;
  readonly next: ReactNode;
}) {
  const { name, first, next } = props;
  if (!first && !next) return null;
  return (
    <nav aria-label={name} className="mt-3 flex gap-4">
      {first}
      {next}
    </nav>
  );
}
