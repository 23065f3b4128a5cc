import type * as z from 'zod';
import type { Actor, Role } from '../../core/actor.ts';
import type { AccountScope, AddressScope, PrincipalScope, TargetScope } from '../../limits/scopes.ts';
import type { Change, Transaction } from '../../core/stores.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Channel, Origin } from '../../core/origin.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** Method, and path in OpenAPI form: `POST /api/agents/{id}/suspend`. */
type RouteName = `${Uppercase<Method>} /api/${string}`;

/** The part of the HTTP exchange that a handler may use itself; bodies go through the schemas. */
export interface Exchange {
  readonly header: (name: string) => string | undefined;
  readonly setHeader: (name: string, value: string) => void;
  /** The client's address; undefined where it is unknown. */
  readonly address: string | undefined;
  /** Of the request, for the log. */
  readonly origin: (channel: Channel, authenticatedBy?: string) => Origin;
}

interface Parsed<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly exchange: Exchange;
}

interface SignedInInput<Params, Query, Body> extends Parsed<Params, Query, Body> {
  readonly actor: Actor;
}

/** Members that the schema does not name are dropped from the response. */
type ResponseShape<Result> =
  | { readonly status: 200 | 201; readonly schema: z.ZodType<Result> }
  | { readonly status: 204 }
  /**
   * The handler returns an `AsyncIterable<string>`: the parts of a text of this shape, taken as they are sent. It is JSON, or
   * of one of these types, which the handler sets.
   */
  | { readonly status: 200; readonly streams: z.ZodType; readonly types?: readonly string[] }
  /** The handler returns an `EventFeed`: server-sent events whose data has this shape, until the principal may not read. */
  | { readonly status: 200; readonly events: z.ZodType };

/** An object schema: the declaration makes it strict, whatever the route says. */
type QuerySchema<Query> = z.ZodType<Query> & { strict(): QuerySchema<Query> };

interface RouteCommon<Params, Query, Body, Result> {
  /** OpenAPI's operationId, such as `createAgent`. */
  readonly operation: string;
  readonly tag: string;
  readonly summary: string;
  /** With {@link idSchema} or a service name's schema, so that a malformed id is rejected and not looked for. */
  readonly params?: z.ZodType<Params>;
  /** Rejects parameters that it does not name, as a route without a query rejects them all. */
  readonly query?: QuerySchema<Query>;
  readonly body?: z.ZodType<Body>;
  /** 204 unless given. */
  readonly response?: ResponseShape<Result>;
  /** Errors of this route beyond those that follow from its shape. */
  readonly errors?: readonly ErrorCode[];
}

/**
 * A limit per thing that the request names. `target` resolves to its id once it has seen that the account
 * has it and that the request may go on. A request for which it throws is not counted.
 */
interface TargetLimit<Params, Query, Body> {
  readonly scope: TargetScope;
  target(input: SignedInInput<Params, Query, Body>): Promise<string>;
}

/** A management route of an authenticated principal: everything about it, in one place. */
interface RouteDefinition<Params, Query, Body, Result> extends RouteCommon<Params, Query, Body, Result> {
  /** The weakest role that may call it. */
  readonly role: Role;
  /** `denied`: 423 VAULT_LOCKED while the vault is locked. That is what every route but a GET does unless it says otherwise. */
  readonly whenLocked?: 'allowed' | 'denied';
  /** The limit that it counts against, right before the handler: a malformed request is not counted. */
  readonly limit?: AccountScope | AddressScope | PrincipalScope | TargetLimit<Params, Query, Body>;
}

interface Handler<Params, Query, Body, Result> {
  handle(
    input: SignedInInput<Params, Query, Body> & {
      /** Writes a change and its event in one transaction, if the principal may still make it (`transactionAs`). */
      readonly transaction: Transaction;
    },
  ): Promise<Result>;
}

/** A handler that is one such transaction as a whole. */
interface ChangeHandler<Params, Query, Body, Result> {
  change(inside: Change, input: SignedInInput<Params, Query, Body>): Promise<Result>;
}

/** A route that needs no sign-in. */
interface PublicRouteDefinition<Params, Query, Body, Result> extends RouteCommon<
  Params,
  Query,
  Body,
  Result
> {
  /** Counted before the body is read. */
  readonly limit?: AddressScope;
  handle(input: Parsed<Params, Query, Body>): Promise<Result>;
}

/** Only reads may be without a limit. */
type PublicLimit<Name extends RouteName> = Name extends `GET ${string}`
  ? unknown
  : { readonly limit: AddressScope };

/** What {@link defineRoute} adds to a definition. */
interface Located {
  readonly method: Method;
  readonly path: string;
  readonly response: ResponseShape<unknown>;
}

/** A route with its types erased, as the router and the OpenAPI document read it. */
export type ManagementRoute = Located &
  (
    | (RouteDefinition<unknown, unknown, unknown, unknown> &
        Handler<unknown, unknown, unknown, unknown> & { readonly whenLocked: 'allowed' | 'denied' })
    | (PublicRouteDefinition<unknown, unknown, unknown, unknown> & { readonly role: 'public' })
  );

/** Declares a route; the handler's input and result are typed by its schemas. */
export function defineRoute<Params = undefined, Query = undefined, Body = undefined, Result = void>(
  name: RouteName,
  definition: RouteDefinition<Params, Query, Body, Result> &
    (Handler<Params, Query, Body, Result> | ChangeHandler<Params, Query, Body, Result>),
): ManagementRoute {
  const handler: Handler<Params, Query, Body, Result> =
    'change' in definition
      ? { handle: ({ transaction, ...input }) => transaction((inside) => definition.change(inside, input)) }
      : definition;
  const whenLocked = name.startsWith('GET ') ? 'allowed' : 'denied';
  return { whenLocked, ...located(name), ...definition, ...strictQuery(definition), ...handler };
}

/** Declares a route that needs no credentials. */
export function definePublicRoute<
  Name extends RouteName,
  Params = undefined,
  Query = undefined,
  Body = undefined,
  Result = void,
>(
  name: Name,
  definition: PublicRouteDefinition<Params, Query, Body, Result> & PublicLimit<Name>,
): ManagementRoute {
  const untyped = definition as PublicRouteDefinition<unknown, unknown, unknown, unknown>;
  return { ...located(name), ...untyped, ...strictQuery(untyped), role: 'public' };
}

const strictQuery = <Query>({ query }: { readonly query?: QuerySchema<Query> }) =>
  query && { query: query.strict() };

function located(name: RouteName): Located {
  const [method = '', path = ''] = name.split(' ');
  return { method: method.toLowerCase() as Method, path, response: { status: 204 } };
}
