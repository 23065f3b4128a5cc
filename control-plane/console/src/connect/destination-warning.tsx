import { useQuery } from '@tanstack/react-query';
import { shellWord } from '../parts/shell-word.ts';
import { type DestinationProblem, destinationProblemOf } from './destination.ts';
import { type Proxy, credentialQuery } from './queries.ts';

/** Why no call of a proxy can succeed with its credential as it is stored. Nothing is shown where nothing is known against it. */
export function DestinationWarning({ proxy }: { readonly proxy: Proxy }) {
  const { serviceName, status } = proxy;
  const isAsked = serviceName !== undefined && status === 'active';
  const { data } = useQuery({ ...credentialQuery(serviceName ?? ''), enabled: isAsked });
  if (!isAsked || data === undefined) return null;
  const problem = problemOf(proxy, serviceName, data?.webhook, data === null);
  if (problem === undefined) return null;
  return (
    <div className="card border-warn">
      <p className="text-warn">Each call of this proxy will fail: {problem.text}</p>
      <p className="mt-2">
        <code>{problem.command}</code>
      </p>
    </div>
  );
}

/** What the webhook says at each call (`destinationProblem`), as far as it is known before. */
function problemOf(
  proxy: Proxy,
  serviceName: string,
  held: (Parameters<typeof destinationProblemOf>[2] & { readonly empty: boolean }) | undefined,
  isMissing: boolean,
): DestinationProblem | undefined {
  const word = shellWord(serviceName);
  if (isMissing) return { text: 'there is no credential of this name.', command: `svault add ${word}` };
  if (held === undefined) return undefined;
  if (held.empty) return { text: 'the credential has no secret yet.', command: `svault set ${word}` };
  return destinationProblemOf(proxy, serviceName, held);
}
