import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';
import { Time } from '../parts/time.tsx';
import { numberText } from './figure.tsx';

/** What somebody has to do something about, each with the command that does it. Nothing is shown where nothing is. */
export function Attention({ overview }: { readonly overview: Schemas['Overview'] }) {
  const items = needsOf(overview);
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="attention" className="card border-warn">
      <h2 id="attention">Needs attention</h2>
      <ul className="mt-2 grid list-disc gap-1 pl-5">
        {items.map(({ id, text, command }) => (
          <li key={id}>
            {text} <code>{command}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Need {
  readonly id: string;
  readonly text: ReactNode;
  readonly command: string;
}

function needsOf({ vault, webhook, grants, lockouts, countedUpTo }: Schemas['Overview']): readonly Need[] {
  const needs: Need[] = [];
  if (vault.locked)
    needs.push({
      id: 'locked',
      text: 'The vault is locked: every credential request is denied. To unlock it:',
      command: 'svault vault unlock',
    });
  if (webhook.bound && webhook.online === false)
    needs.push({
      id: 'offline',
      text: 'The webhook does not answer: no credential can be delivered. To see why:',
      command: 'svault webhook status',
    });
  if (webhook.logBehindSince)
    needs.push({
      id: 'log',
      text: (
        <>
          The webhook has not acknowledged the log since <Time at={webhook.logBehindSince} />. To see why:
        </>
      ),
      command: 'svault webhook status',
    });
  if (lockouts > 0)
    needs.push({
      id: 'lockouts',
      text: `${count(lockouts, Infinity, 'agent or proxy is', 'agents and proxies are')} locked out. To list them:`,
      command: 'svault limits list',
    });
  if (grants.endingSoon > 0)
    needs.push({
      id: 'grants',
      text: `${count(grants.endingSoon, countedUpTo, 'grant expires', 'grants expire')} within 24 hours. To renew one:`,
      command: 'svault grant AGENT SERVICE --renew --expires 7d',
    });
  return needs;
}

const count = (value: number, upTo: number, one: string, many: string): string =>
  `${numberText(value, upTo)} ${value === 1 ? one : many}`;
