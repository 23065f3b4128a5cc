import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { Writable } from 'node:stream';
import Database from 'better-sqlite3';
import { createLogger } from '@svault/server-kit/logger';
import {
  type CredentialTicket,
  type HmacKey,
  ManualClock,
  type StoreTicket,
  authorityOf,
  fromBase64url,
  issueTicket,
  randomToken,
  signRequest,
  signedPath,
} from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { onTestFinished } from 'vitest';
import { newHmacSecret } from '../../src/binding/binding-store.ts';
import { makeRegistration } from '../../src/binding/registration-link.ts';
import { webhookConfig } from '../../src/config/config.ts';
import type { Context } from '../../src/context.ts';
import { type RunningWebhook, startWebhook } from '../../src/serve.ts';

export const SERVICE_URL = 'https://vault.example/base';
export const WEBHOOK_URL = 'https://hook.example';
export const SETUP_TOKEN = 'the-set-up-token-of-this-test-webhook';
const VAULT_ID = 'vlt_AAECAwQFBgcICQoLDA0ODw';
const MASTER_KEY = Buffer.alloc(32, 3).toString('base64url');

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: AnswerBody;
}

/** Members of the answers these tests look at; a test asserts on those that it reads. */
export interface AnswerBody {
  readonly code: string;
  readonly error: string;
  readonly retryAfter: number;
  readonly webhookId: string;
  readonly keyId: string;
  readonly hmacSecret: string;
  readonly protocol: string;
}

export interface Call {
  readonly method?: string;
  readonly path: string;
  /** Flat pairs; a name may stand twice. */
  readonly rawHeaders?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The binding as the service holds it. */
export interface ServiceSide {
  readonly webhookId: string;
  key: HmacKey;
}

export interface SignedCall {
  readonly path?: string;
  readonly method?: string;
  readonly body?: object;
  readonly key: HmacKey;
  readonly nowMs?: number;
  readonly ttlSeconds?: number;
  readonly nonce?: string;
}

/** A webhook on a real listener, with a clock that stands still, and its service played by the test. */
export interface WebhookFixture {
  readonly clock: ManualClock;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly webhook: RunningWebhook;
  /** Every line logged so far. */
  logged(): string;
  send(call: Call): Promise<Answer>;
  /** Headers that the service would send, without sending. */
  sign(call: SignedCall): Record<string, string>;
  sendSigned(call: SignedCall): Promise<Answer>;
  /** Walks through the bind page; what the redirect carries. */
  connect(): Promise<{ code: string; hmacHash: string; webhookUrl: string; location: string }>;
  exchange(code: string, changes?: { service?: object; key?: string; nowMs?: number }): Promise<Answer>;
  /** Page, exchange and first signed request. */
  bind(): Promise<ServiceSide>;
  /** Stops the webhook and starts it on the same data, as after a restart of the process. */
  restart(): Promise<void>;
  /** Another connection to the database, as another process has it. */
  query<T>(sql: string): T[];
  stop(): Promise<void>;
}

/** A webhook that is stopped with the test that started it. */
export async function fixtureOfTest(options?: Parameters<typeof startFixture>[0]): Promise<WebhookFixture> {
  const fixture = await startFixture(options);
  onTestFinished(() => fixture.stop());
  return fixture;
}

export async function startFixture(
  options: { readonly env?: NodeJS.ProcessEnv; readonly clock?: ManualClock } = {},
): Promise<WebhookFixture> {
  const { clock = new ManualClock() } = options;
  const dir = tempDir();
  const lines: string[] = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const logger = createLogger({ name: 'webhook', level: 'debug', format: 'json', destination });
  const env = {
    SV_WEBHOOK_URL: WEBHOOK_URL,
    SV_WEBHOOK_LISTEN: '127.0.0.1:0',
    SV_WEBHOOK_DATA_DIR: dir.path,
    SV_WEBHOOK_MASTER_KEY: MASTER_KEY,
    SV_WEBHOOK_SERVICE_URL: SERVICE_URL,
    SV_WEBHOOK_SETUP_TOKEN: SETUP_TOKEN,
    ...options.env,
  };
  const start = (): Promise<RunningWebhook> => startWebhook(webhookConfig(env), { clock, logger });
  let webhook = await start();
  const webhookUrl = env.SV_WEBHOOK_URL;

  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const send = (call: Call): Promise<Answer> => sendTo(webhook.url, call, agent);
  const sign = ({
    path = '/v1/health',
    method = 'POST',
    body,
    ...given
  }: SignedCall): Record<string, string> =>
    signRequest({
      method,
      authority: authorityOf(webhookUrl),
      path: signedPath(webhookUrl, path),
      ...(body !== undefined && { body: Buffer.from(JSON.stringify(body)) }),
      nowMs: clock.now(),
      ...given,
    });
  const sendSigned = (call: SignedCall): Promise<Answer> => {
    const { path = '/v1/health', method = 'POST', body } = call;
    return send({
      method,
      path,
      headers: sign(call),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
  const connect: WebhookFixture['connect'] = async () => {
    const { text } = await postForm(send, { setup_token: SETUP_TOKEN });
    const token = /name="connect_token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const { headers } = await postForm(send, { connect_token: token });
    const location = headers.location ?? '';
    const query = new URL(location).searchParams;
    return {
      location,
      code: query.get('code') ?? '',
      hmacHash: query.get('hmac_hash') ?? '',
      webhookUrl: Buffer.from(query.get('webhook_url') ?? '', 'base64url').toString(),
    };
  };
  const exchange: WebhookFixture['exchange'] = (code, { service, key = code, nowMs } = {}) =>
    sendSigned({
      path: '/v1/exchange',
      body: { code, service: { baseUrl: env.SV_WEBHOOK_SERVICE_URL, vaultId: VAULT_ID, ...service } },
      key: { id: 'bind', secret: Buffer.from(key) },
      ...(nowMs !== undefined && { nowMs }),
    });

  const query = <T>(sql: string): T[] => {
    const db = new Database(`${dir.path}/webhook.db`);
    try {
      const statement = db.prepare(sql);
      if (statement.reader) return statement.all() as T[];
      statement.run();
      return [];
    } finally {
      db.close();
    }
  };

  return {
    clock,
    folder: dir.path,
    env,
    get webhook() {
      return webhook;
    },
    logged: () => lines.join(''),
    send,
    sign,
    sendSigned,
    connect,
    exchange,
    bind: async () => {
      const { json } = await exchange((await connect()).code);
      const side = { webhookId: json.webhookId, key: keyOf(json) };
      const { status } = await sendSigned({ key: side.key });
      if (status !== 200) throw new Error(`the first signed request was answered ${status}`);
      return side;
    },
    restart: async () => {
      await webhook.close();
      webhook = await start();
    },
    query,
    stop: async () => {
      agent.destroy();
      await webhook.close();
      dir.remove();
    },
  };
}

/** A key from an answer of `/v1/exchange`. */
export const keyOf = (json: { keyId: string; hmacSecret: string }): HmacKey => ({
  id: json.keyId,
  secret: fromBase64url(json.hmacSecret)!,
});

export function postForm(
  send: (call: Call) => Promise<Answer>,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send({
    method: 'POST',
    path: '/bind',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html', ...headers },
    body: new URLSearchParams(fields).toString(),
  });
}

export function credentialTicket(
  fixture: WebhookFixture,
  side: ServiceSide,
  changes: Partial<CredentialTicket> = {},
): string {
  const iat = Math.floor(fixture.clock.now() / 1000);
  const claims: CredentialTicket = {
    iss: SERVICE_URL,
    aud: side.webhookId,
    sub: 'agt_AAECAwQFBgcICQoLDA0ODw',
    op: 'credential',
    svc: 'github',
    jti: randomToken(),
    iat,
    exp: iat + 60,
    gnt: 'grt_AAECAwQFBgcICQoLDA0ODw',
    rfp: 'none',
    ...changes,
  };
  return issueTicket(claims, side.key);
}

export function storeTicket(
  fixture: WebhookFixture,
  side: ServiceSide,
  changes: Partial<StoreTicket> = {},
): string {
  const iat = Math.floor(fixture.clock.now() / 1000);
  const claims: StoreTicket = {
    iss: SERVICE_URL,
    aud: side.webhookId,
    sub: 'usr_AAECAwQFBgcICQoLDA0ODw',
    op: 'store',
    svc: 'github',
    jti: randomToken(),
    iat,
    exp: iat + 300,
    ...changes,
  };
  return issueTicket(claims, side.key);
}

/** Stores a plain credential, as the owner's CLI does. */
export function storePlain(
  fixture: WebhookFixture,
  ticket: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return fixture.send({
    method: 'POST',
    path: '/v1/store',
    headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ tokenType: 'PlainText', value: 'the value' }),
  });
}

function sendTo(base: string, call: Call, agent: Agent): Promise<Answer> {
  const { hostname, port } = new URL(base);
  const body = call.body === undefined ? undefined : Buffer.from(call.body);
  const flat = [
    ...Object.entries(call.headers ?? {}).flat(),
    ...(call.rawHeaders ?? []),
    ...(body === undefined ? [] : ['content-length', String(body.length)]),
  ];
  if (!flat.some((text, at) => at % 2 === 0 && text.toLowerCase() === 'host'))
    flat.push('host', 'elsewhere.test');
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, path: call.path, method: call.method ?? 'GET', headers: flat, agent },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = response.headers['content-type']?.startsWith('application/json') === true;
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: isJson && text !== '' ? JSON.parse(text) : undefined,
          });
        });
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** What `bind-link` prints. */
export const makeLink = ({ codes, config }: Context): ReturnType<typeof makeRegistration> =>
  makeRegistration({ ...config, codes }, newHmacSecret());
