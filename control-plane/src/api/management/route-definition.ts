import type { z } from 'zod';
import type { Actor, Role } from '../../core/actor.ts';
import type { AuditEventType } from '../../core/audit-event.ts';
import type { AccountScope, AddressScope, TargetScope } from '../../limits/scopes.ts';
import type { Transaction } from '../../core/stores.ts';
import type { ErrorCode } from '../../core/errors.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** What a handler may do with the HTTP exchange itself; bodies go through the schemas. */
export interface Exchange {
  readonly header: (name: string) => string | undefined;
  readonly setHeader: (name: string, value: string) => void;
  /** Where the request comes from; undefined where that cannot be told. */
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
  /** 204 has no schema. The answer is what the schema lets through: members it does not name are dropped. */
  readonly response:
    | { readonly status: 200 | 201; readonly schema: z.ZodType<Result> }
    | { readonly status: 204 }
    /** The handler gives an `AsyncIterable<string>`, the parts of a JSON text of this shape, asked for as they are sent. */
    | { readonly status: 200; readonly streams: z.ZodType };
  /** Refusals of this route beyond those that follow from its shape. */
  readonly errors?: readonly ErrorCode[];
}

/**
 * A limit per thing that the request names. `target` answers its id, having seen that the account has it and that the
 * request may go on: what it throws is the answer, and counts nothing.
 */
interface TargetLimit<Params, Query, Body> {
  readonly scope: TargetScope;
  target(input: Parsed<Params, Query, Body> & { readonly actor: Actor }): Promise<string>;
}

/** A management route of an authenticated caller: everything there is to know about it, in one place. */
interface RouteDefinition<Params, Query, Body, Result> extends RouteCommon<Params, Query, Body, Result> {
  /** The weakest role that may call it. */
  readonly role: Role;
  /** `denied`: 423 VAULT_LOCKED while the vault is locked. Every route that changes state, with few exceptions. */
  readonly whenLocked: 'allowed' | 'denied';
  /** Events it can write, each in the transaction of its change. */
  readonly audit: readonly AuditEventType[];
  /** What it counts against, right before the handler: nothing that is refused for its form is counted. */
  readonly limit?: AccountScope | AddressScope | TargetLimit<Params, Query, Body>;
  handle(
    input: Parsed<Params, Query, Body> & {
      readonly actor: Actor;
      /** Makes a change and its event one, by whoever may still make it (`transactionAs`). */
      readonly transaction: Transaction;
    },
  ): Promise<Result>;
}

/** A route that needs no sign-in. */
type PublicRouteDefinition<Params, Query, Body, Result> = RouteCommon<Params, Query, Body, Result> & {
  readonly audit: readonly AuditEventType[];
  handle(input: Parsed<Params, Query, Body>): Promise<Result>;
} & PublicLimit;

/** What it counts against per address, before the body is read: a flood of bodies is one too. All but reads have one. */
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

/** Declares a route that answers without credentials. */
export function definePublicRoute<Params = undefined, Query = undefined, Body = undefined, Result = void>(
  definition: PublicRouteDefinition<Params, Query, Body, Result>,
): ManagementRoute {
  return { ...(definition as PublicRouteDefinition<unknown, unknown, unknown, unknown>), role: 'public' };
}
