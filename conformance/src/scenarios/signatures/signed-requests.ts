import { randomToken, type WebhookErrorCode } from '@svault/shared';
import type { Capability } from '@svault/shared/schemas';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal } from '../../check/expect.ts';
import type { WebhookCheck } from '../../check/check.ts';
import { CONTENT_COMPONENTS, DERIVED_COMPONENTS, type SignatureDeviation } from '../../forge/signature.ts';
import type { Answer, RequestToSend } from '../../http/client.ts';
import type { ServiceRequest, Tools } from '../../check/tools.ts';

/** A signed request without a body, which every webhook takes. */
export const HEALTH = { method: 'POST', path: '/v1/health' } as const;
/** One with a body, which changes nothing. */
const LIST = { method: 'POST', path: '/v1/storage', body: '{"op":"tokens.list","limit":1}' } as const;

/** A signed request with a body, at an endpoint that this webhook has. */
export function withBody({ claims }: Tools): ServiceRequest & { readonly body: string } {
  return claims.has('storage') ? LIST : { ...HEALTH, body: '{}' };
}

/** The suite's clock, in seconds since 1970. */
export const now = (): number => Math.floor(Date.now() / 1000);

/** An endpoint that takes signed requests, and a request to it that changes nothing. */
export interface Endpoint {
  readonly path: `/v1/${string}`;
  readonly claims?: Capability;
  /** Absent: the request has none. */
  readonly body?: (tools: Tools) => object;
  /** How a right signature is answered: what is asked for may not be there. */
  readonly taken: 200 | WebhookErrorCode;
}

const ENDPOINTS: readonly Endpoint[] = [
  { path: '/v1/health', taken: 200 },
  { path: '/v1/health', body: () => ({}), taken: 200 },
  { path: '/v1/storage', claims: 'storage', body: () => ({ op: 'tokens.list', limit: 1 }), taken: 200 },
  {
    path: '/v1/refresh',
    claims: 'sv-refresh',
    body: (tools) => ({ phase: 'get', serviceName: tools.freshName() }),
    taken: 'NOT_FOUND',
  },
  {
    path: '/v1/refresh-notify',
    claims: 'refresh-notify',
    body: (tools) => ({ serviceName: tools.freshName(), reason: 'expired' }),
    taken: 'NOT_FOUND',
  },
  { path: '/v1/proxy', claims: 'proxy', body: () => ({ jsonrpc: '2.0' }), taken: 'NOT_FOUND' },
  {
    path: '/v1/approvals',
    claims: 'approvals',
    body: (tools) => ({
      serviceName: tools.freshName(),
      sub: 'agt_conformance',
      operation: { type: 'credential' },
    }),
    taken: 'NOT_FOUND',
  },
  {
    path: '/v1/approvals/list',
    claims: 'approvals',
    body: () => ({ ids: [`apr_${randomToken()}`] }),
    taken: 200,
  },
  // No rotation, which would change the key.
  { path: '/v1/exchange', body: () => ({ op: 'none' }), taken: 'INVALID_REQUEST' },
];

/** A signed endpoint of the webhook that is looked at. */
export interface Place {
  readonly tools: Tools;
  readonly target: Tools['target'];
  readonly path: string;
  /** The same in each request; empty where it has none. */
  readonly body: string;
  /** What a signature covers here (SIG-01, SIG-10). */
  readonly covered: readonly string[];
  /** A right request, with a ticket of its own where it needs one. */
  request(): ServiceRequest & { readonly body: string };
  /** Signs a right request, or one with these fields and this path instead, rightly or with a deviation. */
  sign(
    deviation?: SignatureDeviation,
    changed?: Partial<Pick<ServiceRequest, 'headers' | 'path'>>,
  ): RequestToSend;
  /** @throws CheckFailed unless the signature was accepted */
  expectTaken(answer: Answer): void;
}

function placeOf(tools: Tools, { path, body: bodyOf, taken }: Endpoint): Place {
  const body = bodyOf === undefined ? '' : JSON.stringify(bodyOf(tools));
  const hasTicket = path === '/v1/proxy';
  const ticket = (): string =>
    tools.ticket('proxy', tools.freshName(), { claims: { prx: tools.freshProxyId(), htm: 'POST' } });
  const request: Place['request'] = () => ({
    method: 'POST',
    path,
    ...(hasTicket && { headers: [['sv-ticket', ticket()]] }),
    body,
  });
  return {
    tools,
    target: tools.target,
    path,
    body,
    covered: [
      ...DERIVED_COMPONENTS,
      ...(body === '' ? [] : CONTENT_COMPONENTS),
      ...(hasTicket ? ['sv-ticket'] : []),
    ],
    request,
    sign: (deviation, { headers = [], path: sent = path } = {}) => {
      const right = request();
      return tools.sign({ ...right, path: sent, headers: [...(right.headers ?? []), ...headers] }, deviation);
    },
    expectTaken: (answer) => (taken === 200 ? void expectOk(answer) : expectRefusal(answer, taken)),
  };
}

/** A request under a deviating signature, or one that was tampered with after it was signed. */
export type Attempt = SignatureDeviation | RequestToSend;
export type Attempts = Readonly<Record<string, Attempt>>;
type Described = Pick<WebhookCheck, 'id' | 'title' | 'requirements' | 'claims'>;

/** Runs what is looked at for each signed endpoint that the webhook has, by its path. */
export function atEachEndpoint(
  tools: Tools,
  choice: (endpoint: Endpoint) => boolean = () => true,
): Readonly<Record<string, Place>> {
  const there = ENDPOINTS.filter(({ claims }) => claims === undefined || tools.claims.has(claims));
  return Object.fromEntries(
    there
      .filter(choice)
      .map((endpoint) => [
        `${endpoint.path}${endpoint.body === undefined ? ', without a body' : ''}`,
        placeOf(tools, endpoint),
      ]),
  );
}

/** Endpoints whose requests have a body. */
export const hasBody = ({ body }: Endpoint): boolean => body !== undefined;

/** A check that each of some requests is refused at each signed endpoint. @param attempts by what is wrong with them */
export function refusesSignatures(
  described: Described,
  attempts: (place: Place) => Attempts,
  choice?: (endpoint: Endpoint) => boolean,
): WebhookCheck {
  return atAll(described, attempts, choice, (answer) => expectRefusal(answer, 'SIGNATURE_INVALID'));
}

/** A check that each of some requests is accepted at each signed endpoint. @param attempts by what is unusual about them */
export function takesSignatures(
  described: Described,
  attempts: (place: Place) => Attempts,
  choice?: (endpoint: Endpoint) => boolean,
): WebhookCheck {
  return atAll(described, attempts, choice, (answer, place) => place.expectTaken(answer));
}

function atAll(
  described: Described,
  attempts: (place: Place) => Attempts,
  choice: ((endpoint: Endpoint) => boolean) | undefined,
  expects: (answer: Answer, place: Place) => void,
): WebhookCheck {
  return {
    ...described,
    run: (tools) =>
      variantsAtOnce(
        Object.fromEntries(
          Object.entries(atEachEndpoint(tools, choice)).flatMap(([name, place]) =>
            Object.entries(attempts(place))
              .filter(([, attempt]) => !isOfBinding(attempt, place))
              .map(([what, attempt]) => [`${what}, at ${name}`, { attempt, place }]),
          ),
        ),
        async ({ attempt, place }) =>
          expects(await tools.send(isReady(attempt) ? attempt : place.sign(attempt)), place),
      ),
  };
}

/** Under the key id of an exchange it would be a wrong binding code, and those are counted (EXC-14). */
const isOfBinding = (attempt: Attempt, { path }: Place): boolean =>
  path === '/v1/exchange' && !isReady(attempt) && attempt.key?.id === 'bind';

function isReady(attempt: Attempt): attempt is RequestToSend {
  return 'method' in attempt;
}
