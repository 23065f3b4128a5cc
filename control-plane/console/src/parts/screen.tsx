import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/**
 * What each screen begins with: its title, the way up, and what can be done here.
 *
 * @param props.title text of the window's title; the heading, unless `heading` is given
 * @param props.up the screen that this one belongs to
 */
export function Screen(props: {
  readonly title: string;
  readonly heading?: ReactNode;
  readonly up?: { readonly to: NonNullable<LinkProps['to']>; readonly name: string } | undefined;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const { title, heading, up, actions, children } = props;
  return (
    <>
      <title>{`${title} · svault`}</title>
      {up && (
        <p className="text-sm">
          <Link to={up.to}>{up.name}</Link>
        </p>
      )}
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h1 className="min-w-0 wrap-anywhere">{heading ?? <bdi>{title}</bdi>}</h1>
        {actions && <div className="flex flex-wrap gap-3">{actions}</div>}
      </div>
      {children}
    </>
  );
}

/** A part of a screen, by a heading that names it. @param props.id unique on the screen, also the anchor in its address */
export function Section(props: {
  readonly id: string;
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const { id, title, actions, children } = props;
  return (
    <section aria-labelledby={id} className="card">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 id={id}>{title}</h2>
        {actions && <div className="flex flex-wrap gap-3">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** Facts about a thing, each with its name. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="mt-2 grid gap-x-6 gap-y-1 sm:grid-cols-[auto_1fr]">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-sm/6 text-dim">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
