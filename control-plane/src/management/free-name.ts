import { ApiError } from '../core/errors.ts';

const LISTS = { agent: 'agents', proxy: 'proxies' } as const;

/**
 * Changes of one account run one after the other, and the database holds names unique as well.
 *
 * @param other that has the name
 * @param id of the one that may have it already
 * @throws ApiError CONFLICT
 */
export function requireFree(
  one: keyof typeof LISTS,
  other: { readonly id: string; readonly name: string } | undefined,
  id?: string,
): void {
  if (other === undefined || other.id === id) return;
  const article = one === 'agent' ? 'an' : 'a';
  throw new ApiError(
    'CONFLICT',
    `There is ${article} ${one} \`${other.name}\` (${other.id}) already. Choose another name, or use that one: \`svault ${LISTS[one]} show ${other.id}\`.`,
  );
}
