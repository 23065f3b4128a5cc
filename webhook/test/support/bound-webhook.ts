import { randomBytes } from 'node:crypto';
import { silentLogger } from '@svault/server-kit/logger';
import type { Logger } from '@svault/server-kit/logger';
import {
  type Clock,
  type CredentialTicket,
  type HmacKey,
  ManualClock,
  type StoreTicket,
  fromBase64url,
  issueTicket,
  randomToken,
  signRequest,
  toBase64url,
  utf8,
} from '@svault/shared';
import type { Resolve } from '@svault/shared/egress';
import { tempDir } from '@svault/test-kit/temp-dir';
import { onTestFinished } from 'vitest';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { type RunningWebhook, startWebhook } from '../../src/serve.ts';
import { makeLink } from './webhook-fixture.ts';

export const SERVICE_URL = 'https://service.test';
const AGENT = 'agt_AAAAAAAAAAAAAAAAAAAAAA';
export const OWNER = 'usr_AAAAAAAAAAAAAAAAAAAAAA';
const GRANT = 'grt_AAAAAAAAAAAAAAAAAAAAAA';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Whatever came back: tests assert on its members. */
  readonly json: ReturnType<typeof JSON.parse>;
}

/** A webhook over a real listener, bound by the real exchange, and the service's side of the protocol. */
export interface BoundWebhook {
  readonly env: NodeJS.ProcessEnv;
  readonly dataDir: string;
  readonly clock: Clock & Pick<ManualClock, 'advance' | 'jump'>;
  readonly key: HmacKey;
  readonly webhookId: string;
  readonly url: string;
  readonly metricsUrl: string | undefined;
  send(path: string, init?: RequestInit): Promise<Answer>;
  /** Signs as the service would; `body` is sent as JSON, a string as it is. */
  signed(path: string, body?: unknown, options?: { contentType?: string }): Promise<Answer>;
  storage(operation: object): Promise<Answer>;
  storeTicket(serviceName: string, claims?: Partial<StoreTicket>): string;
  store(serviceName: string, body: unknown, claims?: Partial<StoreTicket>): Promise<Answer>;
  credentialTicket(serviceName: string, claims?: Partial<CredentialTicket>): string;
  credential(serviceName: string, claims?: Partial<CredentialTicket>): Promise<Answer>;
  /** Stops it and starts it again on the same data. */
  restart(env?: NodeJS.ProcessEnv): Promise<void>;
  stop(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** A webhook that is removed with the test that started it. */
export async function webhookOfTest(options?: Parameters<typeof boundWebhook>[0]): Promise<BoundWebhook> {
  const webhook = await boundWebhook(options);
  onTestFinished(() => webhook.remove());
  return webhook;
}

export async function boundWebhook(
  options: {
    env?: NodeJS.ProcessEnv;
    logger?: Logger;
    clock?: ManualClock;
    resolve?: Resolve;
    drain?: (ms: number) => Promise<unknown>;
  } = {},
): Promise<BoundWebhook> {
  const dir = tempDir();
  const dataDir = `${dir.path}/data`;
  const clock = options.clock ?? new ManualClock(Date.UTC(2026, 10, 20, 12));
  const logger = options.logger ?? silentLogger;
  const { resolve, drain } = options;
  const surroundings = {
    clock,
    logger,
    ...(resolve !== undefined && { resolve }),
    ...(drain !== undefined && { drain }),
  };
  let env: NodeJS.ProcessEnv = {
    SV_WEBHOOK_URL: 'https://webhook.test',
    SV_WEBHOOK_LISTEN: '127.0.0.1:0',
    SV_WEBHOOK_DATA_DIR: dataDir,
    SV_WEBHOOK_MASTER_KEY: toBase64url(randomBytes(32)),
    SV_WEBHOOK_SERVICE_URL: SERVICE_URL,
    SV_WEBHOOK_SETUP_TOKEN: 'a-set-up-token-of-43-characters-in-length-ab',
    ...options.env,
  };
  let running: RunningWebhook | undefined = await startWebhook(webhookConfig(env), surroundings);
  const url = (): string => {
    if (running === undefined) throw new Error('the webhook is stopped');
    return running.url;
  };

  const send = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(url() + path, { redirect: 'manual', ...init });
    const text = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json');
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
  };
  const signedWith = async (
    key: HmacKey,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<Answer> => {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const bytes = text === undefined ? undefined : utf8(text);
    const headers = signRequest({
      method: 'POST',
      authority: new URL(env['SV_WEBHOOK_URL'] ?? '').host,
      path,
      ...(contentType !== undefined && { contentType }),
      ...(bytes !== undefined && { body: bytes }),
      key,
      nowMs: clock.now(),
    });
    return send(path, { method: 'POST', headers, ...(text !== undefined && { body: text }) });
  };

  const context = await openContext(webhookConfig(env), { clock, logger });
  const { link } = await makeLink(context);
  context.close();
  const code = new URL(link).searchParams.get('code')!;
  const exchanged = await signedWith({ id: 'bind', secret: utf8(code) }, '/v1/exchange', {
    code,
    service: { baseUrl: SERVICE_URL, vaultId: 'vlt_AAAAAAAAAAAAAAAAAAAAAA' },
  });
  if (exchanged.status !== 200) throw new Error(`the exchange was refused: ${exchanged.text}`);
  const { keyId, hmacSecret, webhookId } = exchanged.json;
  const key: HmacKey = { id: keyId, secret: fromBase64url(hmacSecret)! };
  const health = await signedWith(key, '/v1/health');
  if (health.status !== 200) throw new Error(`the binding was not completed: ${health.text}`);

  const claims = (serviceName: string, lifetimeSeconds: number) => {
    const iat = Math.floor(clock.now() / 1000);
    return {
      iss: SERVICE_URL,
      aud: webhookId,
      svc: serviceName,
      jti: randomToken(),
      iat,
      exp: iat + lifetimeSeconds,
    };
  };
  const storeTicket: BoundWebhook['storeTicket'] = (serviceName, more) =>
    issueTicket({ ...claims(serviceName, 300), op: 'store', sub: OWNER, ...more }, key);
  const credentialTicket: BoundWebhook['credentialTicket'] = (serviceName, more) =>
    issueTicket(
      { ...claims(serviceName, 60), op: 'credential', sub: AGENT, gnt: GRANT, rfp: 'none', ...more },
      key,
    );

  const stop = async (): Promise<void> => {
    await running?.close();
    running = undefined;
  };
  return {
    get env() {
      return env;
    },
    get url() {
      return url();
    },
    get metricsUrl() {
      return running?.metricsUrl;
    },
    dataDir,
    clock,
    key,
    webhookId,
    send,
    signed: (path, body, { contentType } = {}) => signedWith(key, path, body, contentType),
    storage: (operation) => signedWith(key, '/v1/storage', operation),
    storeTicket,
    store: (serviceName, body, more) =>
      send('/v1/store', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${storeTicket(serviceName, more)}`,
          'content-type': 'application/json',
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    credentialTicket,
    credential: (serviceName, more) => send(`/v1/credential?ticket=${credentialTicket(serviceName, more)}`),
    restart: async (more = {}) => {
      await stop();
      env = { ...env, ...more };
      running = await startWebhook(webhookConfig(env), surroundings);
    },
    stop,
    remove: async () => {
      await stop();
      dir.remove();
    },
  };
}
