import { type Request, type Response, Router } from 'express';
import * as z from 'zod';
import { occursTwice } from '@svault/server-kit/repeated-header';
import { methodNotAllowed, route as asHandler } from '@svault/server-kit/request-handler';
import type { Id } from '@svault/shared';
import type { Role } from '../../core/actor.ts';
import { requireRole, transactionAs } from '../../sign-in/current-actor.ts';
import { MAKES, type QuotaNoun } from '../../core/quotas.ts';
import { isAddressScope } from '../../limits/scopes.ts';
import type { Transaction } from '../../core/stores.ts';
import { requireUnlocked } from '../../core/vault.ts';
import { type ManagementAuthenticator, unauthenticated } from './authenticate-management.ts';
import type { Needs } from './dependencies.ts';
import { BODY_LIMITS, parseInput, readJsonBody } from './parse-input.ts';
import { isSameOrigin, crossOriginError } from '../http/origin-check.ts';
import type { Exchange, ManagementRoute } from './route-definition.ts';
import { type EventFeed, sendEvents } from './send-events.ts';
import { streamText } from './stream-text.ts';
import type { RouteLimits } from '../http/route-limits.ts';

type MountDependencies = Needs<
  'clientAddress' | 'originOf' | 'limits' | 'ownOrigin' | 'unitOfWork',
  'vaults'
> & {
  readonly authenticate: ManagementAuthenticator;
  /** Of a stream that goes on: notes no use, so that an open page keeps no session alive. */
  readonly authenticateAgain: ManagementAuthenticator;
};

type SignedInRoute = Extract<ManagementRoute, { readonly role: Role }>;

const NOTHING = z.strictObject({});

/**
 * Mounts declared routes, and on each of their paths a 405 for every other method. Query parameters that a route does not name
 * are rejected here; OAuth endpoints ignore them (RFC 6749 section 3.1), as the pages do, and are not mounted here.
 *
 * The order of errors is the same on all of them: 405, 401, 403, 415, 413, 400, 423, 422, 429, then the handler's, then 409
 * QUOTA_EXCEEDED; on public routes 429 comes right after 403. A change checks its principal and the lock once more in its
 * transaction: a slow body carries nothing past a lock, a removal or a sign-out.
 */
export function mountRoutes(routes: readonly ManagementRoute[], dependencies: MountDependencies): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const path of new Set(routes.map((route) => route.path))) {
    const here = routes.filter((route) => route.path === path);
    const mounted = router.route(expressPath(path));
    for (const route of here)
      mounted[route.method](asHandler((req, res) => response(route, req, res, dependencies)));
    mounted.all(methodNotAllowed(allowedMethods(here)));
  }
  return router;
}

/** `/api/agents/{id}` → `/api/agents/:id` */
const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const allowedMethods = (routes: readonly ManagementRoute[]): string[] =>
  routes.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));

async function response(
  route: ManagementRoute,
  req: Request,
  res: Response,
  dependencies: MountDependencies,
): Promise<void> {
  const { authenticate, stores, unitOfWork, limits, clientAddress, originOf, ownOrigin } = dependencies;
  const exchange: Exchange = {
    // Two keys are no key, as on the agent's endpoint: which of them counts would depend on the reader.
    header: (name) => (name === 'authorization' && occursTwice(req.rawHeaders, name) ? '' : req.get(name)),
    setHeader: (name, value) => void res.setHeader(name, value),
    address: clientAddress(req),
    origin: (channel, authenticatedBy) => originOf(req, channel, authenticatedBy),
  };
  if (route.role === 'public') {
    rejectCrossOrigin(exchange, ownOrigin);
    if (route.limit !== undefined) await limits.countAddress(route.limit, req);
    const body = await readJsonBody(req, BODY_LIMITS.unauthenticated);
    return await send(res, route, await route.handle({ ...parseParts(route, req, body), exchange }));
  }
  const actor = await authenticate(exchange, req.method);
  requireRole(actor.role, route.role);
  const body = await readJsonBody(req, BODY_LIMITS.authenticated);
  const { whenLocked } = route;
  if (whenLocked === 'denied') await requireUnlocked(stores, actor.vaultId);
  const gone = (): never => unauthenticated(exchange);
  const transaction = withinQuota(
    MAKES[route.operation],
    actor.vaultId,
    limits,
    transactionAs(actor, { unitOfWork, whenLocked, gone }),
  );
  const input = { ...parseParts(route, req, body), exchange, actor };
  if (route.limit !== undefined) await countSignedIn(route.limit, req, input, limits);
  else if (isCountedWrite(route)) await limits.countWrite(actor);
  const result = await route.handle({ ...input, transaction });
  if (!('events' in route.response)) return await send(res, route, result);
  const again = { ...exchange, setHeader: () => undefined };
  const mayRead = (): Promise<boolean> =>
    dependencies.authenticateAgain(again, req.method).then(
      () => true,
      () => false,
    );
  sendEvents(res, result as EventFeed, { mayRead });
}

/** A change that makes things of a kind is undone where the account then has too many of them. */
function withinQuota(
  noun: QuotaNoun | undefined,
  vaultId: Id<'vlt'>,
  limits: RouteLimits,
  transaction: Transaction,
): Transaction {
  if (noun === undefined) return transaction;
  return (work) =>
    transaction(async (inside) => {
      const made = await work(inside);
      await limits.requireWithin(noun, vaultId, inside);
      return made;
    });
}

/** A route that gives back (a deletion, a sign-out, a lock) is never limited. */
export const isCountedWrite = (route: SignedInRoute): boolean =>
  (route.method === 'post' || route.method === 'patch') && route.whenLocked === 'denied';

/** Counts against a route's limit: of the principal, the account, the address, or the thing that the request names. */
async function countSignedIn(
  limit: NonNullable<SignedInRoute['limit']>,
  req: Request,
  input: Parameters<Exclude<typeof limit, string>['target']>[0],
  limits: RouteLimits,
): Promise<void> {
  const { vaultId } = input.actor;
  if (limit === 'management_write') return limits.countWrite(input.actor);
  if (typeof limit === 'string')
    return isAddressScope(limit) ? limits.countAddress(limit, req) : limits.countAccount(limit, vaultId);
  return limits.countTarget(limit.scope, vaultId, await limit.target(input));
}

/** No session counts on a public route, so programs need no Origin; a page of another site may not call it. */
function rejectCrossOrigin(exchange: Exchange, ownOrigin: string): void {
  const foreign = exchange.header('origin') !== undefined && !isSameOrigin(exchange.header, ownOrigin);
  if (foreign) throw crossOriginError();
}

function parseParts(
  route: ManagementRoute,
  req: Request,
  body: Record<string, unknown> | undefined,
): { params: unknown; query: unknown; body: unknown } {
  return {
    params: route.params === undefined ? undefined : parseInput(route.params, req.params),
    query: parseInput(route.query ?? NOTHING, req.query),
    body: parseInput(route.body ?? NOTHING, body ?? {}),
  };
}

async function send(res: Response, route: ManagementRoute, result: unknown): Promise<void> {
  const { response: shape } = route;
  if (shape.status === 204) return void res.status(204).end();
  if (!('schema' in shape)) return streamText(res, result as AsyncIterable<string>);
  res.status(shape.status).json(shape.schema.parse(result));
}
