import { generateKeyPairSync } from 'node:crypto';
import { Writable } from 'node:stream';
import Database from 'better-sqlite3';
import { type JWTPayload, jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { credentialEnvelopeSchema } from '@svault/shared/schemas';
import { type BoundWebhook, boundWebhook } from './bound-webhook.ts';
import { type Provider, type ProviderAnswer, type ProviderRequest, startProvider } from './fake-provider.ts';
import { ACCESS_KEY, type FakeSts, startFakeSts } from './fake-sts.ts';

export const SEED = 'JBSWY3DPEHPK3PXP';
export const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PKCS8 = RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const PKCS1 = RSA.privateKey.export({ type: 'pkcs1', format: 'pem' }) as string;
export const FAILED = { error: 'the credential could not be made', code: 'MINT_FAILED' };
const CANARIES = [SEED, ACCESS_KEY.secretAccessKey, PKCS8.slice(100, 160), PKCS1.slice(100, 160)];

/** Starts a webhook with an STS and a provider for the minters before the tests of a file, and stops them after. */
export function useMintingFixture() {
  let webhook: BoundWebhook;
  let sts: FakeSts;
  let provider: Provider;
  /** How the provider of GCP and GitHub answers; tests set it. */
  const answers: {
    provider: (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>;
  } = { provider: () => ({ status: 500, body: '' }) };
  let answerOfSts: FakeSts['answer'];
  const log: string[] = [];
  const minted: string[] = [];

  beforeAll(async () => {
    const logger = createLogger({
      name: 'webhook',
      level: 'trace',
      format: 'json',
      destination: new Writable({ write: (chunk: Buffer, _e, done) => (log.push(chunk.toString()), done()) }),
    });
    let now = (): number => 0;
    sts = await startFakeSts({ now: () => now() });
    answerOfSts = sts.answer;
    provider = await startProvider((request) => answers.provider(request));
    // The STS endpoint may be called because it is a setting of its own; the provider, because it is named.
    const env = {
      SV_AWS_STS_ENDPOINT: sts.url.replace('127.0.0.1', 'localhost'),
      SV_EGRESS_ALLOW: '127.0.0.1',
    };
    webhook = await boundWebhook({ env, logger });
    now = () => webhook.clock.now();
  });
  afterAll(async () => {
    await webhook.remove();
    await sts.stop();
    await provider.stop();
  });
  afterEach(() => {
    sts.answer = answerOfSts;
  });

  const aws = (more: object = {}) => ({
    tokenType: 'RawCredential',
    minter: { type: 'aws-sts', ...ACCESS_KEY, ...more },
  });
  const gcp = (more: object = {}) => ({
    tokenType: 'RawCredential',
    minter: {
      type: 'gcp-service-account',
      clientEmail: 'robot@project.iam.gserviceaccount.com',
      privateKey: PKCS8,
      tokenUri: `${provider.url}/token`,
      scopes: ['https://www.googleapis.com/auth/devstorage.read_only', 'email'],
      ...more,
    },
  });
  const github = (more: object = {}) => ({
    tokenType: 'RawCredential',
    minter: {
      type: 'github-app',
      appId: '12345',
      installationId: '678',
      privateKey: PKCS1,
      apiUrl: `${provider.url}/api/v3`,
      ...more,
    },
  });

  async function stored(name: string, body: object): Promise<void> {
    expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
  }

  /** The token of one delivery, which has to succeed. */
  async function delivered(name: string, claims: object = {}) {
    const { status, json } = await webhook.credential(name, claims);
    expect([status, json]).toMatchObject([200, { token: { serviceName: name } }]);
    const { token } = credentialEnvelopeSchema.parse(json);
    minted.push(token.accessToken);
    return token;
  }

  /** As a provider would: the assertion has to hold at the webhook's time. */
  async function verified(jwt: string, options: { issuer: string; audience?: string }): Promise<JWTPayload> {
    const checks = {
      algorithms: ['RS256'],
      typ: 'JWT',
      currentDate: new Date(webhook.clock.now()),
      ...options,
    };
    return (await jwtVerify(jwt, RSA.publicKey, checks)).payload;
  }

  /** Searches the log, the database and all lists for seeds, keys and minted credentials. */
  async function expectNoLeaks(names: readonly string[]): Promise<void> {
    expect(minted.length).toBeGreaterThan(0);
    const lists = [
      ...(await Promise.all(names.map((serviceName) => webhook.storage({ op: 'tokens.get', serviceName })))),
      await webhook.storage({ op: 'tokens.list' }),
      await webhook.storage({ op: 'audit.list' }),
    ];
    const db = new Database(`${webhook.dataDir}/webhook.db`, { readonly: true });
    const tables = db
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
      .pluck()
      .all() as string[];
    const kept = tables.map((name) =>
      db
        .prepare(`SELECT * FROM ${name}`)
        .raw()
        .all()
        .flat()
        .map((cell) => (Buffer.isBuffer(cell) ? cell.toString('latin1') : String(cell)))
        .join('\n'),
    );
    db.close();
    const texts = { log: log.join(''), lists: lists.map(({ text }) => text).join(''), kept: kept.join('') };
    for (const name of names) expect(texts.kept).toContain(name);
    // Codes of six digits stand in many texts by chance.
    const secrets = [...CANARIES, ...minted.filter((text) => text.length > 8)].flatMap((text) => [
      text,
      JSON.stringify(text).slice(1, -1),
      Buffer.from(text).toString('base64').slice(0, -4),
      encodeURIComponent(text),
    ]);
    for (const [where, text] of Object.entries(texts))
      expect([where, secrets.filter((secret) => text.includes(secret))]).toEqual([where, []]);
  }
  return {
    get webhook() {
      return webhook;
    },
    get sts() {
      return sts;
    },
    get provider() {
      return provider;
    },
    get answerOfSts() {
      return answerOfSts;
    },
    answers,
    log,
    aws,
    gcp,
    github,
    stored,
    delivered,
    verified,
    expectNoLeaks,
  };
}
