import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { RIGHT } from '../../fixtures/rules.ts';
import type { World } from '../../fixtures/minimal/world.ts';

type Members = Readonly<Record<string, unknown>>;

/** The request that a webhook is at work on. */
interface UnderWay {
  readonly path: string;
  /** Which operation of an endpoint, or with which type of credential; known once the body is there. */
  detail: string;
}

const ENDPOINTS = /^(\/bind|\/v1\/(credential|exchange|health|proxy|refresh|refresh-notify|storage|store))$/;
const OPERATIONS =
  /^(tokens\.(list|get|delete)|proxies\.(put|get|list|delete)|audit\.(append|list)|rotate|get|update)$/;
const MINTERS: readonly string[] = RIGHT.minters;
const TYPES = /^(PlainText|JWT|Certificate|SSHKey|RawCredential|TOTP)$/;

const underWay = new AsyncLocalStorage<UnderWay>();
let looked: World | undefined;

/** Where the running code is at work: an endpoint, and what it does there. Nothing outside of requests. */
export function here(): Readonly<UnderWay> | undefined {
  return underWay.getStore();
}

/** From now on this is the webhook whose records say what is delivered. */
export function lookAt(world: World): void {
  looked = world;
}

/** Has {@link here} know each request that a server of this process receives. */
export function watchRequests(): void {
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { readonly request: IncomingMessage };
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const store: UnderWay = { path: ENDPOINTS.test(path) ? path : '', detail: '' };
    const ticket =
      request.headers['sv-ticket']?.toString() ??
      new URLSearchParams(query).get('ticket') ??
      request.headers.authorization?.slice('Bearer '.length);
    if (path === '/v1/credential' || path === '/v1/proxy') store.detail = typeOfStored(ticket ?? '');
    const read = request.toArray.bind(request);
    request.toArray = async (options) => {
      const chunks = (await read(options)) as Buffer[];
      if (store.detail === '') store.detail = detailIn(membersIn(Buffer.concat(chunks).toString()));
      return chunks;
    };
    underWay.enterWith(store);
  });
}

function typeOfStored(ticket: string): string {
  const claims = membersIn(Buffer.from(ticket.split('.')[1] ?? '', 'base64url').toString());
  return typeIn(looked?.records.get(String(claims['svc']))?.body ?? {});
}

function detailIn(body: Members): string {
  const named = body['op'] ?? body['phase'];
  if (typeof named === 'string') return OPERATIONS.test(named) ? named : '';
  return 'batch' in body ? 'batch' : typeIn(body);
}

/** The type of a credential, with what makes another path of it. */
function typeIn({ tokenType, minter, provider }: Members): string {
  const { type } = Object(minter) as Members;
  if (!TYPES.test(String(tokenType))) return '';
  return [
    tokenType,
    MINTERS.includes(String(type)) ? type : undefined,
    provider === undefined ? undefined : 'with provider',
  ]
    .filter((each) => typeof each === 'string')
    .join(' ');
}

function membersIn(text: string): Members {
  if (text.length > 100_000) return {};
  try {
    return Object(JSON.parse(text)) as Members;
  } catch {
    return {};
  }
}
