import { fromBase64url, type HeaderPairs } from '@svault/shared';

/** A ticket taken apart, for a reader. Nothing in it is verified. */
export interface ShownTicket {
  /** `query`, `authorization` or `sv-ticket`. */
  readonly where: string;
  /** JSON as it stands in the ticket. */
  readonly header: string;
  readonly claims: string;
}

/** A ticket as it was found. */
export interface FoundTicket extends ShownTicket {
  readonly token: string;
}

const JWS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*$/;

/** Finds the tickets of a request. @returns none for what is no ticket to be read */
export function shownTickets(request: {
  readonly path: string;
  readonly headers: HeaderPairs;
}): readonly FoundTicket[] {
  const query = request.path.split('?', 2)[1] ?? '';
  const places = [
    ...[...query.matchAll(/(?:^|&)ticket=([^&]*)/g)].map(([, ticket = '']) => ['query', ticket] as const),
    ...request.headers
      .filter(([name]) => /^(authorization|sv-ticket)$/i.test(name))
      .map(([name, value]) => [name.toLowerCase(), value.replace(/^Bearer +/i, '')] as const),
  ];
  return places.flatMap(([where, ticket]) => {
    const [header, claims] = readTicket(ticket) ?? [];
    return header === undefined || claims === undefined ? [] : [{ where, header, claims, token: ticket }];
  });
}

/** @returns header and claims as text; nothing where it is no JWS in compact form */
function readTicket(ticket: string): readonly [header: string, claims: string] | undefined {
  const [, header, claims] = JWS.exec(ticket) ?? [];
  const [headerBytes, claimsBytes] = [fromBase64url(header ?? ''), fromBase64url(claims ?? '')];
  if (header === undefined || headerBytes === undefined || claimsBytes === undefined) return undefined;
  return [Buffer.from(headerBytes).toString('utf8'), Buffer.from(claimsBytes).toString('utf8')];
}
