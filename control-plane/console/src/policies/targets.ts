import { queryOptions } from '@tanstack/react-query';
import { Problem, answerOf, api } from '../api/client.ts';
import type { ListedTarget, Target } from './queries.ts';

export type TargetType = Target['targetType'];

/** What a policy can be attached to, as people call it. */
export const TARGET_NAMES: Readonly<Record<TargetType, string>> = {
  agent: 'Agent',
  proxy: 'Proxy',
  token: 'Credential',
};

/** How people know a target: its name, or its id where it has none any more. */
export const targetText = ({ targetId, targetName }: ListedTarget): string => targetName ?? targetId;

export const targetKey = ({ targetType, targetId }: Target): string => `${targetType} ${targetId}`;

/** The target of `targetKey`; a service name may have spaces. */
export function targetIn(key: string): Target {
  const at = key.indexOf(' ');
  return { targetType: key.slice(0, at) as TargetType, targetId: key.slice(at + 1) };
}

const SUGGESTED = 20;

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The first things of a kind whose name contains a text. */
export const namedQuery = (type: TargetType, name: string) =>
  queryOptions({
    queryKey: [type === 'token' ? 'tokens' : `${type === 'agent' ? 'agents' : 'proxies'}`, 'named', name],
    queryFn: ({ signal }) => named(type, name, signal),
  });

async function named(type: TargetType, name: string, signal?: AbortSignal): Promise<readonly Named[]> {
  const options = {
    ...(signal && { signal }),
    params: { query: { limit: SUGGESTED, ...(name !== '' && { name }) } },
  };
  if (type === 'agent') return (await answerOf(api.GET('/api/agents', options))).items;
  if (type === 'proxy') {
    const { items } = await answerOf(api.GET('/api/proxies', options));
    return items.filter(({ status }) => status === 'active');
  }
  const { items } = await answerOf(api.GET('/api/tokens', options));
  return items.map(({ serviceName }) => ({ id: serviceName, name: serviceName }));
}

const ID = /^(?:agt|prx)_[\w-]{22}$/;

/**
 * The target that a person names. Of credentials the name is enough: one that is only granted can be asked about, too.
 *
 * @param field beside which it is said that there is none
 * @throws Problem
 */
export async function targetNamed(
  targetType: TargetType,
  text: string,
  field: string,
): Promise<ListedTarget> {
  const name = text.trim();
  if (targetType === 'token') return { targetType, targetId: name };
  if (ID.test(name)) return { targetType, targetId: name };
  const found = (await named(targetType, name)).filter((each) => sameName(each.name, name));
  const [{ id, name: targetName } = { id: '', name: '' }] = found;
  if (found.length !== 1)
    throw new Problem(`No ${targetType} has this name.`, [
      { path: field, message: `No ${targetType} has this name.` },
    ]);
  return { targetType, targetId: id, targetName };
}

const sameName = (a: string, b: string): boolean =>
  a.normalize('NFKC').toLowerCase() === b.normalize('NFKC').toLowerCase();
