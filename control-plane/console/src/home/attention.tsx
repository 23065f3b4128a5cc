import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';
import { Time } from '../parts/time.tsx';
import { numberText } from './figure.tsx';

/** What somebody has to do something about, each with where and by which command. Nothing is shown where nothing is. */
export function Attention({ overview }: { readonly overview: Schemas['Overview'] }) {
  const items = needsOf(overview);
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="attention" className="card border-warn">
      <h2 id="attention">Needs attention</h2>
      <ul className="mt-2 grid list-disc gap-1 pl-5">
        {items.map(({ id, text, to, act, command }) => (
          <li key={id}>
            {text} <Link to={to}>{act}</Link>, or <code>{command}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Need {
  readonly id: string;
  readonly text: ReactNode;
  readonly to: NonNullable<LinkProps['to']>;
  readonly act: string;
  readonly command: string;
}

function needsOf({ vault, webhook, grants, lockouts, countedUpTo }: Schemas['Overview']): readonly Need[] {
  const needs: Need[] = [];
  if (vault.locked)
    needs.push({
      id: 'locked',
      text: 'The vault is locked: every credential request is denied.',
      to: '/webhook',
      act: 'Unlock it',
      command: 'svault vault unlock',
    });
  if (webhook.bound && webhook.online === false)
    needs.push({
      id: 'offline',
      text: 'The webhook does not answer: no credential can be delivered.',
      to: '/webhook',
      act: 'See its state',
      command: 'svault webhook status',
    });
  if (webhook.logBehindSince)
    needs.push({
      id: 'log',
      text: (
        <>
          The webhook has not acknowledged the log since <Time at={webhook.logBehindSince} />.
        </>
      ),
      to: '/webhook',
      act: 'See how far its copy reaches',
      command: 'svault webhook status',
    });
  if (lockouts > 0)
    needs.push({
      id: 'lockouts',
      text: `${count(lockouts, Infinity, 'agent or proxy is', 'agents and proxies are')} locked out.`,
      to: '/limits',
      act: 'See for how long',
      command: 'svault limits list',
    });
  if (grants.endingSoon > 0)
    needs.push({
      id: 'grants',
      text: `${count(grants.endingSoon, countedUpTo, 'grant expires', 'grants expire')} within 24 hours.`,
      to: '/reach',
      act: 'See who has grants',
      command: 'svault grant AGENT SERVICE --renew --expires 7d',
    });
  return needs;
}

const count = (value: number, upTo: number, one: string, many: string): string =>
  `${numberText(value, upTo)} ${value === 1 ? one : many}`;
