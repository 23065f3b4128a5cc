import { DEFAULT_ALLOWED_HEADERS } from '@svault/shared/schemas';
import { plainLine } from '../output/plain-line.ts';
import type { GivenRecord } from './record-from-options.ts';
import type { HeldRecord } from './token.ts';

/**
 * What a record would lose by being replaced, where the command line says nothing of it. The webhook carries nothing over
 * (protocol 5.5), and neither does this client: the service says how it was, and could have it say something else.
 *
 * @returns a clause for each, with the flags that keep it or let it go
 */
export function droppedRestrictions(held: HeldRecord, given: GivenRecord): string[] {
  const { delivery, allowedHosts, allowedHeaders, provider } = given.members;
  const dropped: string[] = [];
  if (held.delivery !== 'any' && delivery === undefined)
    dropped.push(
      `it is delivered ${plainLine(held.delivery)}: give ${held.delivery === 'sealed' ? '--recipient' : '--delivery'} again, or --delivery any`,
    );
  if (held.allowedHosts.length > 0 && allowedHosts === undefined)
    dropped.push(
      `proxies may send it to ${listed(held.allowedHosts)}: give --allow-host again, or --allow-host none`,
    );
  const headersMatter = Array.isArray(allowedHosts) && allowedHosts.length > 0;
  if (headersMatter && allowedHeaders === undefined && !areDefault(held.allowedHeaders))
    dropped.push(
      `proxies may put it in ${held.allowedHeaders.length === 0 ? 'no header' : listed(held.allowedHeaders)}: give --allow-header again`,
    );
  if (held.provider !== undefined && provider === undefined && !given.withoutProvider)
    dropped.push(
      `it is refreshed at ${plainLine(held.provider.tokenUrl)} as ${plainLine(held.provider.clientId)}: give --field provider.… or --body again, or --field provider=none`,
    );
  return dropped;
}

const SHOWN = 10;
const listed = (items: readonly string[]): string =>
  [...items.slice(0, SHOWN).map(plainLine), ...(items.length > SHOWN ? ['…'] : [])].join(', ');

const areDefault = (headers: readonly string[]): boolean =>
  headers
    .map((header) => header.toLowerCase())
    .sort()
    .join() === DEFAULT_ALLOWED_HEADERS.toSorted().join();
