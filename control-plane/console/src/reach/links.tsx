import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Caller, isProxyId } from './queries.ts';

interface NameLink {
  readonly className?: string;
  readonly tabIndex?: number;
  readonly onFocus?: () => void;
  readonly 'data-at'?: string;
  readonly 'data-row'?: '';
  /** In bold: the focus is in its row or column. */
  readonly marked?: boolean;
}

const classOf = (marked: boolean | undefined): string => `min-w-0 truncate ${marked ? 'font-semibold' : ''}`;

/** To what an agent or a proxy can reach. */
export function CallerLink({
  caller: { id, name },
  marked,
  className = 'text-sm text-ink no-underline hover:underline',
  ...link
}: NameLink & { readonly caller: Pick<Caller, 'id' | 'name'> }) {
  return (
    <Link
      {...link}
      to="/reach"
      search={isProxyId(id) ? { proxy: id } : { agent: id }}
      title={name}
      className={`${classOf(marked)} ${className}`}
    >
      {isProxyId(id) && <span className="text-dim">proxy </span>}
      <bdi>{name}</bdi>
    </Link>
  );
}

/** To who can reach a credential. */
export function CredentialLink({
  name,
  vertical,
  marked,
  className = 'text-sm text-ink no-underline hover:underline',
  ...link
}: NameLink & { readonly name: string; readonly vertical?: boolean }) {
  return (
    <Link
      {...link}
      to="/reach"
      search={{ credential: name }}
      title={name}
      className={`${classOf(marked)} ${vertical ? 'max-h-32 min-w-6 rotate-180 [writing-mode:vertical-rl]' : ''} ${className}`}
    >
      <bdi>{name}</bdi>
    </Link>
  );
}

/** To the MCP clients that act as an agent, or to the agents. */
export const ClientsLink = (props: { readonly agent?: string | undefined; readonly children: ReactNode }) =>
  props.agent === undefined ? (
    <Link to="/agents">{props.children}</Link>
  ) : (
    <Link to="/agents/$id" params={{ id: props.agent }} search={{ tab: 'clients' }}>
      {props.children}
    </Link>
  );
