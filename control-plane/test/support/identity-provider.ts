import { generateKeyPairSync } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Adapter, type AdapterPayload, Provider, interactionPolicy } from 'oidc-provider';
import { type TestBrowser, keep } from './browser.ts';
import { BASE_URL } from './management-service.ts';

export const CLIENT = { id: 'svault', secret: 'a secret of thirty-two characters' };
export const CALLBACK = '/api/login/oidc/callback';

/** Settings of a service whose users sign in at a provider. */
export const settingsFor = ({ issuer }: Pick<TestProvider, 'issuer'>) => ({
  SV_OIDC_ISSUER: issuer,
  SV_OIDC_CLIENT_ID: CLIENT.id,
  SV_OIDC_CLIENT_SECRET: CLIENT.secret,
});
/** The claims of the owner. */
export const OWNER = { email: 'owner@example.org', email_verified: true };

/** The claims of a person. */
export interface Person {
  readonly email?: unknown;
  readonly email_verified?: unknown;
}

/** A real provider (oidc-provider) on loopback, which signs the person in `signsIn` in without pages. */
export interface TestProvider {
  readonly issuer: string;
  readonly people: Map<string, Person>;
  /** The `sub` of the next sign-in; undefined to deny it. */
  signsIn: string | undefined;
  /** Requested paths. */
  readonly asked: string[];
  /** Answers in place of the provider where it returns true. */
  interfere: ((req: IncomingMessage, res: ServerResponse) => boolean) | undefined;
  /** Follows the provider's redirects. @param url of the service's redirect @returns the callback */
  goThrough(url: string): Promise<URL>;
  stop(): Promise<void>;
}

export const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const KEY_ID = 'a';

/**
 * @param options.emailIn where the provider puts the address: it may do either
 * @param options.serviceUrl public address of the service
 */
export async function startProvider(
  options: {
    readonly emailIn?: 'idToken' | 'userInfo';
    readonly port?: number;
    readonly serviceUrl?: string;
  } = {},
): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people = new Map<string, Person>();
  const { emailIn = 'userInfo', serviceUrl = BASE_URL } = options;
  const provider = providerAt(issuer, people, { emailIn, serviceUrl });
  const answer = provider.callback();
  const self: TestProvider = {
    issuer,
    people,
    signsIn: undefined,
    asked: [],
    interfere: undefined,
    goThrough: (url) => goThrough(url),
    stop: () => closeServer(server),
  };
  server.on('request', (req, res) => {
    self.asked.push((req.url ?? '').replace(/\?.*/, ''));
    if (self.interfere?.(req, res) === true) return;
    if (req.url?.startsWith('/interaction/') !== true) return void answer(req, res);
    const result =
      self.signsIn === undefined
        ? { error: 'access_denied', error_description: 'said no: <b>canary</b>' }
        : { login: { accountId: self.signsIn } };
    void provider.interactionFinished(req, res, result);
  });
  return self;
}

function providerAt(
  issuer: string,
  people: ReadonlyMap<string, Person>,
  { emailIn, serviceUrl }: { readonly emailIn: 'idToken' | 'userInfo'; readonly serviceUrl: string },
): Provider {
  const policy = interactionPolicy.base();
  policy.remove('consent');
  return new Provider(issuer, {
    adapter: memoryAdapter(),
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${serviceUrl}${CALLBACK}`],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: KEY_ID }] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: emailIn === 'userInfo',
    cookies: { keys: ['for this test'] },
    features: { devInteractions: { enabled: false } },
    interactions: { policy, url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: () => ({ sub, ...people.get(sub) }),
    }),
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({
        clientId: CLIENT.id,
        accountId: ctx.oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email');
      await grant.save();
      return grant;
    },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
  });
}

/** The provider warns of its own. Nothing here lives long enough to expire. */
function memoryAdapter(): (model: string) => Adapter {
  const kept = new Map<string, AdapterPayload>();
  const done = Promise.resolve(undefined);
  return (model) => {
    const keyOf = (id: string): string => `${model} ${id}`;
    const findBy = (name: 'uid' | 'userCode', value: string): Promise<AdapterPayload | undefined> =>
      Promise.resolve(
        [...kept].find(([key, item]) => key.startsWith(`${model} `) && item[name] === value)?.[1],
      );
    return {
      upsert: (id, payload) => (kept.set(keyOf(id), payload), done),
      find: (id) => Promise.resolve(kept.get(keyOf(id))),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('userCode', userCode),
      consume: (id) => (Object.assign(kept.get(keyOf(id)) ?? {}, { consumed: 1 }), done),
      destroy: (id) => (kept.delete(keyOf(id)), done),
      revokeByGrantId: (grantId) => {
        for (const [key, item] of kept) if (item.grantId === grantId) kept.delete(key);
        return done;
      },
    };
  };
}

/** A browser of its own at the provider, which knows nobody yet. */
async function goThrough(start: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  for (let hops = 0; hops < 10 && !url.startsWith(BASE_URL); hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    keep(cookies, response.headers.getSetCookie());
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the provider stops at ${url}: ${await response.text()}`);
    url = new URL(location, url).href;
  }
  return new URL(url);
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** Begins a sign-in in a browser. @returns where the service sends it */
export async function beginAt(browser: TestBrowser, query = ''): Promise<string> {
  const { status, headers, text } = await browser.get(`/api/login/oidc${query}`);
  if (status !== 303) throw new Error(`no sign-in was begun: ${status} ${text}`);
  return headers.get('location') ?? '';
}

/** Path and query, as a browser asks for it. */
export const pathOf = ({ pathname, search }: URL): string => pathname + search;
