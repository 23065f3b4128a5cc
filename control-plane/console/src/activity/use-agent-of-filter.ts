import { useQuery } from '@tanstack/react-query';
import { namedAgentsQuery } from './audit-queries.ts';

const AGENT_ID = /^agt_[\w-]{22}$/;

/**
 * The agent that a filter names by its id or its name.
 *
 * @returns its id, undefined where none has that name; and the names of agents that have the text in their name
 */
export function useAgentOfFilter(text = ''): {
  readonly id: string | undefined;
  readonly names: readonly string[];
  readonly isLoading: boolean;
} {
  const isName = text !== '' && !AGENT_ID.test(text);
  const { data, isFetching } = useQuery({ ...namedAgentsQuery(text), enabled: isName });
  const found = isName ? (data?.items ?? []) : [];
  const same = (name: string): boolean => name.toLowerCase() === text.toLowerCase();
  const agent = found.find(({ name }) => same(name)) ?? (found.length === 1 ? found[0] : undefined);
  return {
    id: isName ? agent?.id : text || undefined,
    names: found.map(({ name }) => name),
    isLoading: isName && isFetching,
  };
}
