import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Fault } from '../support/faulty-webhook.ts';
import { twoAccounts } from '../isolation/accounts.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { LARGEST_RULES } from '../support/refreshable-record.ts';

/* A hostile webhook costs its own account only (docs/security.md, "Floods"). */

const MIB = 1024 * 1024;
const answering = (body: string, headers: Readonly<Record<string, string>> = {}): Fault => ({
  status: 200,
  body,
  headers: { 'content-type': 'application/json', ...headers },
});

describe('a webhook whose answers are too large', () => {
  let service: LinkedService;
  beforeEach(async () => {
    service = await startLinkedService();
    await service.bind();
  });
  afterEach(() => service.stop());

  const record = (serviceName: string, more: object = {}): object => ({
    serviceName,
    tokenType: 'PlainText',
    createdAt: '2026-11-20T12:00:00.000Z',
    updatedAt: '2026-11-20T12:00:00.000Z',
    hasRefreshToken: false,
    version: 1,
    delivery: 'any',
    allowedHosts: [],
    allowedHeaders: [],
    empty: false,
    ...more,
  });
  /** How many of the account's tokens a list shows with what the webhook says of them. */
  const described = async (): Promise<number> => {
    const { json } = await service.admin('GET', '/api/tokens?limit=100');
    return (json.items as { webhook?: object }[]).filter(({ webhook }) => webhook !== undefined).length;
  };
  const make = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const body = { serviceName: `name-${n}`, tokenType: 'PlainText' };
      await service.admin('POST', '/api/tokens', { body });
      service.webhook.tokens.set(`name-${n}`, record(`name-${n}`));
    }
  };
  const view = async () => (await service.admin('GET', '/api/webhook')).json;

  it('has no effect on the list of tokens', async () => {
    await make(1);
    expect(await described()).toBe(1);
    const answer = JSON.stringify({ results: [record('name-0')] });
    service.webhook.fault = (path) =>
      path === '/v1/storage' ? answering(answer + ' '.repeat(3 * MIB)) : undefined;
    expect(await described()).toBe(0);
    service.webhook.fault = (path) =>
      path === '/v1/storage' ? answering(answer + ' '.repeat(16_384)) : undefined;
    expect(await described()).toBe(1);
  });

  it('is named to its owner with the operation', async () => {
    await make(1);
    service.webhook.fault = () => answering(' '.repeat(3 * MIB));
    const rotated = await service.admin('POST', '/api/webhook/rotate-secret');
    expect([rotated.status, rotated.json.code]).toEqual([502, 'WEBHOOK_REFUSED']);
    expect(rotated.json.error).toContain('the answer to /v1/exchange is larger than 8192 bytes');
    const refreshed = await service.admin('POST', '/api/tokens/name-0/refresh');
    expect([refreshed.status, refreshed.json.code]).toEqual([502, 'WEBHOOK_REFUSED']);
    expect(refreshed.json.error).toContain('the answer to tokens.get is larger than 59392 bytes');
  });

  it('is read in smaller batches, so that an owner with the largest tokens sees all of them', async () => {
    await make(9);
    const allowedHosts = Array.from(
      { length: 100 },
      (_, n) => `${String(n).padStart(3, '0')}.${'x'.repeat(250)}`,
    );
    for (const [name] of service.webhook.tokens)
      service.webhook.tokens.set(name, record(name, { allowedHosts, requests: LARGEST_RULES }));
    expect(await described()).toBe(9);
  });

  it('gets no further call after 8 MiB in a minute, and the owner sees why', async () => {
    await make(1);
    let answers = 0;
    service.webhook.fault = (path) => {
      if (path !== '/v1/storage') return undefined;
      answers += 1;
      return answering(JSON.stringify({ results: [record('name-0')] }) + ' '.repeat(40_000));
    };
    for (let n = 0; n < 220; n++) await described();
    // Of 40 KB and 4 KiB for the call each.
    expect(answers).toBeGreaterThan(170);
    expect(answers).toBeLessThan(200);
    await expect.poll(async () => (await view()).setAside?.reason).toBe('too_many_answers');
    const { status, json, headers } = await service.admin('POST', '/api/tokens/name-0/refresh');
    expect([status, json.code, headers.get('retry-after')]).toEqual([
      503,
      'WEBHOOK_UNAVAILABLE',
      String(json.retryAfter),
    ]);
    expect(json.error).toContain('have cost more than 8388608 bytes within a minute');
    service.clock.advance(60_000);
    const before = answers;
    await described();
    expect(answers).toBe(before + 1);
  });

  it('is neither offline nor has an effect where it answers with anything else', async () => {
    const agent = await service.agent('github');
    const many = Array.from({ length: 2_000 }, (_, n) => [`x-${n}`, 'x'.repeat(30)] as const);
    const answers = [
      answering('{}', Object.fromEntries(many)),
      ...['<html>', '[]', '['.repeat(4_000)].map((text) => answering(text)),
    ];
    for (const fault of answers) {
      service.webhook.fault = () => fault;
      expect(await view()).toMatchObject({ bound: true, reachable: false });
      expect((await agent.get('github')).status).toBe(307);
    }
  });
});

describe('a webhook that never answers', () => {
  it('does not delay the interrupted key rotation of another account', async () => {
    const jobs = jobsByHand();
    const accounts = await twoAccounts({}, { startJob: jobs.startJob });
    onTestFinished(() => accounts.stop());
    const { owner, stranger } = accounts;
    const both = [owner, stranger];
    const unfinished: Fault = { status: 500, body: '{"error":"no","code":"INTERNAL"}' };
    for (const { call, webhook } of both) {
      webhook.fault = (path) => (path === '/v1/health' ? unfinished : undefined);
      expect((await call('POST', '/api/webhook/rotate-secret')).status).toBe(502);
      webhook.fault = undefined;
    }
    const never = Promise.withResolvers<undefined>();
    let first: object | undefined;
    for (const { webhook } of both)
      webhook.fault = () => ((first ??= webhook) === webhook ? never.promise : undefined);
    const isComplete = async (account: (typeof both)[number]): Promise<boolean> =>
      account.webhook !== first &&
      account.webhook.served.some(({ keyId, path }) => keyId === 'k2' && path === '/v1/health');
    const run = jobs.run('key rotation');
    await expect.poll(async () => (await Promise.all(both.map(isComplete))).includes(true)).toBe(true);
    never.resolve(undefined);
    await run;
  });
});
