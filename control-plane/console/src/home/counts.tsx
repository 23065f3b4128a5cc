import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { Figure, numberText } from './figure.tsx';

/** How much of each thing the account has. */
export function Counts({ overview }: { readonly overview: Schemas['Overview'] }) {
  const { agents, tokens, folders, grants, policies, proxies, countedUpTo } = overview;
  const text = (value: number): string => numberText(value, countedUpTo);
  return (
    <section aria-labelledby="counts" className="card">
      <h2 id="counts">This account</h2>
      <dl className="mt-3 grid grid-cols-2 gap-4 sm:grid-cols-3 lg:grid-cols-6">
        <Figure
          name="Agents"
          value={<Link to="/agents">{text(agents.active)}</Link>}
          note={agents.suspended > 0 ? `and ${text(agents.suspended)} suspended` : undefined}
        />
        <Figure name="Credentials" value={<Link to="/credentials">{text(tokens)}</Link>} />
        <Figure name="Grants" value={<Link to="/reach">{text(grants.live)}</Link>} />
        <Figure name="Policies" value={<Link to="/policies">{text(policies)}</Link>} />
        <Figure name="Active proxies" value={<Link to="/connect">{text(proxies)}</Link>} />
        <Figure name="Folders" value={<Link to="/credentials">{text(folders)}</Link>} />
      </dl>
    </section>
  );
}
