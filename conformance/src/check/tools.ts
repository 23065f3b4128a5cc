import { type HeaderPairs, type HmacKey, type TicketOp, randomToken, utf8 } from '@svault/shared';
import type { Capability } from '@svault/shared/schemas';
import { CheckSkipped, NotTestable } from './outcome.ts';
import { forgeSignature, type SignatureDeviation } from '../forge/signature.ts';
import { forgeTicket, type TicketDeviation } from '../forge/ticket.ts';
import type { Answer, Client, OpenAnswer, RequestToSend } from '../http/client.ts';
import { typeIn, type StoredType } from './token-types.ts';
import { jsonObject } from '../http/read-answer.ts';
import type { Target } from '../target.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** A request of the service; a body that is an object goes as JSON. */
export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  /** Beside those of the signature. */
  readonly headers?: HeaderPairs;
  readonly body?: object | string | Uint8Array;
}

/** A call that an agent makes through a proxy. */
export interface ProxiedCall {
  readonly proxyId: string;
  readonly serviceName: string;
  /** `POST` where it is absent. */
  readonly method?: string;
  readonly headers?: HeaderPairs;
  /** `sv-target` of a call to an HTTP API, whose signature covers the headers. */
  readonly target?: string;
  /** Headers that the signature does not cover. */
  readonly beside?: HeaderPairs;
  readonly body?: string | Uint8Array;
  readonly ticket?: TicketDeviation;
  readonly signature?: SignatureDeviation;
}

/** What a check works with: the wire, and the service's hand on it. */
export interface Tools {
  /** Whom to talk to; its key changes with {@link Tools.keyIsNow}. */
  readonly target: Target;
  readonly send: Client['send'];
  /** Sends a request that the service signed, rightly or with a deviation. */
  signed(request: ServiceRequest, deviation?: SignatureDeviation): Promise<Answer>;
  /** Such a request as it would be sent, to be tampered with first. */
  sign(request: ServiceRequest, deviation?: SignatureDeviation): RequestToSend;
  /** One operation of `POST /v1/storage`, or a batch. */
  storage(operation: object): Promise<Answer>;
  ticket(op: TicketOp, serviceName: string, deviation?: TicketDeviation): string;
  /**
   * `POST /v1/store` with a ticket of its own, as a browser or a command line sends it.
   * @param body a text goes as it is
   * @throws CheckSkipped where the webhook claims something, but not this or not the type
   */
  store(serviceName: string, body: object | string, deviation?: TicketDeviation): Promise<Answer>;
  /** `GET /v1/credential` with a ticket in the query, as an agent comes from the 307. */
  fetchCredential(ticket: string, headers?: HeaderPairs): Promise<Answer>;
  /** `POST /v1/proxy`, its body read whole. */
  proxied(call: ProxiedCall): Promise<Answer>;
  /** `POST /v1/proxy`, its body read as it comes. */
  proxiedOpen(call: ProxiedCall): Promise<OpenAnswer>;
  /**
   * A service name that nothing is stored under yet; removed after the run.
   * @param shape makes another name of it, which is removed instead
   */
  freshName(shape?: (fresh: string) => string): string;
  /** An id of a proxy that nothing is configured under yet; removed after the run. */
  freshProxyId(): string;
  /** What has to be there before a check can look. */
  readonly given: {
    /**
     * Stores this under a name of its own.
     * @returns the name
     * @throws NotTestable where the webhook does not take it
     */
    record(body: object): Promise<string>;
    /** A text under a name of its own, with these settings beside it. @throws NotTestable */
    text(settings?: object): Promise<{ readonly name: string; readonly value: string }>;
    /** A proxy's configuration under an id of its own. @throws NotTestable */
    proxy(config: {
      readonly serviceName: string;
      readonly upstreamUrl: string;
      readonly headerTemplates: Readonly<Record<string, string>>;
      readonly kind?: 'http';
      readonly queryTemplates?: Readonly<Record<string, string>>;
      readonly redirects?: 'follow-without-credential';
      readonly signing?: object;
    }): Promise<string>;
    /** The suite's own server, started when first asked for. */
    upstream(): Promise<Upstream>;
  };
  /** Every answer of this run so far, the long ones and those that were read piece by piece aside. */
  readonly seen: readonly Answer[];
  /** What the webhook claims. */
  readonly claims: ReadonlySet<Capability>;
  /** Whether the webhook stores what has this type. */
  takes(body: object): boolean;
  /** From now on the service signs with this key. */
  keyIsNow(key: HmacKey): void;
  /** Whether the key may be another one after the run: nobody else counts on it. */
  readonly mayReplaceKey: boolean;
  /** Ends the webhook without notice and starts it again; absent where the run was not told how. */
  readonly restart?: (() => Promise<void>) | undefined;
  /** A link by which a new approver is enrolled; absent where the run was given none. */
  readonly approverLink?: (() => Promise<string>) | undefined;
}

/** Tools for one run, and what clears up after it. */
export interface Toolbox {
  readonly tools: Tools;
  /** Deletes every record and proxy that the run may have stored. */
  clearUp(): Promise<void>;
}

/** What is kept of a run has to fit into memory whatever is answered. */
const SEEN_BODY_BYTES = 64 * 1024;
const NAME_PREFIX = 'svault-conformance-';

export function createTools(options: {
  readonly target: Target;
  readonly client: Client;
  readonly claims: ReadonlySet<Capability>;
  readonly types: ReadonlySet<StoredType>;
  readonly upstream: () => Promise<Upstream>;
  readonly mayReplaceKey: boolean;
  readonly restart: Tools['restart'];
  readonly approverLink: Tools['approverLink'];
}): Toolbox {
  const { client, claims, types, upstream, mayReplaceKey, restart, approverLink } = options;
  let { target } = options;
  const names: string[] = [];
  const proxyIds: string[] = [];

  const seen: Answer[] = [];
  const send: Client['send'] = async (request) => {
    const answer = await client.send(request);
    if (answer.body.byteLength <= SEEN_BODY_BYTES) seen.push(answer);
    return answer;
  };
  const freshName: Tools['freshName'] = (shape = (fresh) => fresh) => {
    const name = shape(NAME_PREFIX + randomToken(8));
    names.push(name);
    return name;
  };
  const freshProxyId = (): string => {
    const id = `prx_${randomToken(16)}`;
    proxyIds.push(id);
    return id;
  };
  const sign: Tools['sign'] = ({ method, path, headers: beside = [], body }, deviation) => {
    const bytes = bytesOf(body);
    const { headers, base } = forgeSignature(
      target,
      { method, path, headers: beside, body: bytes },
      deviation,
    );
    return { method, path, headers, body: bytes, signatureBase: base };
  };
  const signed: Tools['signed'] = (request, deviation) => send(sign(request, deviation));
  const storage: Tools['storage'] = (body) => signed({ method: 'POST', path: '/v1/storage', body });
  const ticket: Tools['ticket'] = (op, serviceName, deviation) =>
    forgeTicket(target, op, serviceName, deviation);
  const takes: Tools['takes'] = (body) => {
    const type = typeIn(body);
    return type === undefined || types.has(type);
  };
  const store: Tools['store'] = async (serviceName, body, deviation) => {
    // Who claims something else is not asked to (HEA-06). Where nothing is known of the claims, storing shows it.
    if (claims.size > 0 && !claims.has('store')) throw new CheckSkipped('the webhook does not claim store');
    if (typeof body === 'object' && !takes(body))
      throw new CheckSkipped(`the webhook does not claim ${typeIn(body) ?? ''}`);
    return send({
      method: 'POST',
      path: '/v1/store',
      headers: [
        ['authorization', `Bearer ${ticket('store', serviceName, deviation)}`],
        ['content-type', 'application/json'],
      ],
      body: bytesOf(body),
    });
  };
  const proxiedRequest = (call: ProxiedCall): RequestToSend => {
    const { proxyId, serviceName, method: htm = 'POST', headers = [], body, ticket: deviation } = call;
    const { target: rest, beside = [] } = call;
    const claimed = { ...deviation, claims: { prx: proxyId, htm, ...deviation?.claims } };
    const content = headers.find(([name]) => name === 'content-type')?.[1];
    const others = headers.filter(([name]) => name !== 'content-type');
    const ofApi: HeaderPairs = rest === undefined ? [] : [['sv-target', rest]];
    const covers = rest === undefined ? [] : [...ofApi, ...others].map(([name]) => name.toLowerCase());
    return sign(
      {
        method: 'POST',
        path: '/v1/proxy',
        headers: [...others, ...ofApi, ...beside, ['sv-ticket', ticket('proxy', serviceName, claimed)]],
        body: bytesOf(body),
      },
      { contentType: content ?? 'application/octet-stream', covers, ...call.signature },
    );
  };
  const record = async (body: object): Promise<string> => {
    const name = freshName();
    const answer = await store(name, body);
    const stored = jsonObject(answer);
    if (answer.status !== 200 || stored === undefined)
      throw new NotTestable('setup failed: the record could not be stored', answer);
    return name;
  };

  const tools: Tools = {
    get target() {
      return target;
    },
    send,
    sign,
    signed,
    storage,
    ticket,
    store,
    fetchCredential: (token, headers = []) =>
      send({ method: 'GET', path: `/v1/credential?ticket=${token}`, headers }),
    proxied: (call) => send(proxiedRequest(call)),
    proxiedOpen: (call) => client.open(proxiedRequest(call)),
    freshName,
    freshProxyId,
    given: {
      record,
      text: async (settings = {}) => {
        const value = `canary-${randomToken()}`;
        return { name: await record({ tokenType: 'PlainText', value, ...settings }), value };
      },
      proxy: async (config) => {
        const proxyId = freshProxyId();
        const answer = await storage({ op: 'proxies.put', proxyId, ...config });
        if (answer.status !== 200) throw new NotTestable('the proxy could not be configured', answer);
        return proxyId;
      },
      upstream,
    },
    seen,
    claims,
    takes,
    keyIsNow: (key) => {
      target = { ...target, key };
    },
    mayReplaceKey,
    restart,
    approverLink,
  };
  return {
    tools,
    clearUp: async () => {
      const operations = [
        ...proxyIds.map((proxyId) => ({ op: 'proxies.delete', proxyId })),
        ...names.map((serviceName) => ({ op: 'tokens.delete', serviceName })),
      ];
      for (let at = 0; at < operations.length; at += BATCH)
        await storage({ batch: operations.slice(at, at + BATCH) });
    },
  };
}

/** Operations in one batch (STO-06). */
const BATCH = 100;

function bytesOf(body: ServiceRequest['body']): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return utf8(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body));
}
