import type { z } from 'zod';
import type { Actor, Role } from '../../core/actor.ts';
import type { AuditEventType } from '../../core/audit-event.ts';
import type { AccountScope, AddressScope, TargetScope } from '../../limits/scopes.ts';
import type { Transaction } from '../../core/stores.ts';
import type { ErrorCode } from '../../core/errors.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** The part of the HTTP exchange that a handler may use itself; bodies go through the schemas. */
export interface Exchange {
  readonly header: (name: string) => string | undefined;
  readonly setHeader: (name: string, value: string) => void;
  /** The client's address; undefined where it is unknown. */
  readonly address: string | undefined;
}

interface Parsed<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly exchange: Exchange;
}

interface RouteCommon<Params, Query, Body, Result> {
  readonly method: Method;
  /** OpenAPI form, such as `/api/agents/{id}`. */
  readonly path: `/api/${string}`;
  /** OpenAPI's operationId, such as `createAgent`. */
  readonly operation: string;
  readonly tag: string;
  readonly summary: string;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  readonly body?: z.ZodType<Body>;
  /** 204 has no schema. Members that the schema does not name are dropped from the response. */
  readonly response:
    | { readonly status: 200 | 201; readonly schema: z.ZodType<Result> }
    | { readonly status: 204 }
    /** The handler returns an `AsyncIterable<string>`: the parts of a JSON text of this shape, taken as they are sent. */
    | { readonly status: 200; readonly streams: z.ZodType };
  /** Errors of this route beyond those that follow from its shape. */
  readonly errors?: readonly ErrorCode[];
}

/**
 * A limit per thing that the request names. `target` resolves to its id once it has seen that the account
 * has it and that the request may go on. A request for which it throws is not counted.
 */
interface TargetLimit<Params, Query, Body> {
  readonly scope: TargetScope;
  target(input: Parsed<Params, Query, Body> & { readonly actor: Actor }): Promise<string>;
}

/** A management route of an authenticated principal: everything about it, in one place. */
interface RouteDefinition<Params, Query, Body, Result> extends RouteCommon<Params, Query, Body, Result> {
  /** The weakest role that may call it. */
  readonly role: Role;
  /** `denied`: 423 VAULT_LOCKED while the vault is locked. Every route that changes state, with few exceptions. */
  readonly whenLocked: 'allowed' | 'denied';
  /** Events it can write, each in the transaction of its change. */
  readonly audit: readonly AuditEventType[];
  /** The limit that it counts against, right before the handler: a malformed request is not counted. */
  readonly limit?: AccountScope | AddressScope | TargetLimit<Params, Query, Body>;
  handle(
    input: Parsed<Params, Query, Body> & {
      readonly actor: Actor;
      /** Writes a change and its event in one transaction, if the principal may still make it (`transactionAs`). */
      readonly transaction: Transaction;
    },
  ): Promise<Result>;
}

/** A route that needs no sign-in. */
type PublicRouteDefinition<Params, Query, Body, Result> = RouteCommon<Params, Query, Body, Result> & {
  readonly audit: readonly AuditEventType[];
  handle(input: Parsed<Params, Query, Body>): Promise<Result>;
} & PublicLimit;

/** The limit per address, counted before the body is read. Only reads may have none. */
type PublicLimit =
  | { readonly method: 'get'; readonly limit?: AddressScope }
  | { readonly method: Exclude<Method, 'get'>; readonly limit: AddressScope };

/** A route with its types erased, as the router and the OpenAPI document read it. */
export type ManagementRoute =
  | ({ readonly role: Role } & RouteDefinition<unknown, unknown, unknown, unknown>)
  | ({ readonly role: 'public' } & PublicRouteDefinition<unknown, unknown, unknown, unknown>);

/** Declares a route; the handler's input and result are typed by its schemas. */
export function defineRoute<Params = undefined, Query = undefined, Body = undefined, Result = void>(
  definition: RouteDefinition<Params, Query, Body, Result>,
): ManagementRoute {
  return definition;
}

/** Declares a route that needs no credentials. */
export function definePublicRoute<Params = undefined, Query = undefined, Body = undefined, Result = void>(
  definition: PublicRouteDefinition<Params, Query, Body, Result>,
): ManagementRoute {
  return { ...(definition as PublicRouteDefinition<unknown, unknown, unknown, unknown>), role: 'public' };
}
