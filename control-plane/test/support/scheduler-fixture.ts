import { silentLogger } from '@svault/server-kit/logger';
import { type Id, formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import { type RefreshScheduler, createRefreshScheduler } from '../../src/refresh/scheduler.ts';
import { createSetAsides } from '../../src/webhook/set-aside.ts';
import { createTokenRefresh } from '../../src/refresh/refresh-token.ts';
import { type FaultyWebhook, type HandMade, startFaultyWebhook } from './faulty-webhook.ts';
import { refreshableRecord } from './refreshable-record.ts';
import { type InProcess, startInProcess } from './in-process.ts';

const MINUTE_MS = 60_000;
export const DONE: HandMade = { status: 200, answer: { outcome: 'refreshed' } };
export const FAILED: HandMade = { status: 200, answer: { outcome: 'failed' } };

/** A refresh scheduler with a faulty webhook that records the requested refreshes. */
export interface SchedulerFixture {
  readonly backstage: InProcess;
  readonly webhook: FaultyWebhook;
  readonly vaultId: Id<'vlt'>;
  /** Names of the tokens whose refresh was requested, in order. */
  asked: string[];
  /** The result of a refresh; by default a token of ten hours. */
  outcome: (serviceName: string) => HandMade | Promise<HandMade>;
  inMinutes(minutes: number): string;
  /** Creates a token and its record at the webhook, which expires in half an hour. */
  hold(serviceName: string, changes?: Partial<TokenMetadata>): Promise<void>;
  record(serviceName: string, changes?: Partial<TokenMetadata>): TokenMetadata;
  /** Refreshes the record at the webhook, for so many minutes. */
  renew(serviceName: string, minutes: number): HandMade;
  /** Starts another process's scheduler on the same database, which `pass` then runs. */
  startScheduler(random?: number): RefreshScheduler;
  /** Advances the clock and runs the scheduler once. @returns the requested refreshes, sorted */
  pass(minutes: number): Promise<string[]>;
  attempts(): Promise<readonly { service_name: string; failures: number; next_at: string }[]>;
  /** Resets everything. */
  clear(): Promise<void>;
  bind(): Promise<void>;
  /** GET /api/webhook, whose answer ends an outage. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
  look(): Promise<any>;
  close(): Promise<void>;
}

export async function startSchedulerFixture(): Promise<SchedulerFixture> {
  const backstage = await startInProcess({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  const { clock, context } = backstage;
  const { stores, webhook: linked, status, limiter, limits, database } = context;
  const webhook = await startFaultyWebhook(clock);
  const bind = async (): Promise<void> =>
    void (await backstage.admin('POST', '/api/webhook/bind', { body: webhook.offer() }));
  await bind();
  const { vaultId } = (await backstage.admin('GET', '/api/me')).json as { vaultId: Id<'vlt'> };
  let scheduler: RefreshScheduler;

  const inMinutes = (minutes: number): string => formatTime(clock.now() + minutes * MINUTE_MS);
  const record: SchedulerFixture['record'] = (serviceName, changes) =>
    refreshableRecord(serviceName, { updatedAt: inMinutes(-500), expiryTime: inMinutes(30), ...changes });

  const startScheduler = (chance = 0): RefreshScheduler => {
    const tokenRefresh = createTokenRefresh({
      webhook: linked,
      stores,
      masterKeys: database.masterKeys,
      limiter,
      limits,
      audit: { record: () => Promise.resolve(true) },
      clock,
    });
    scheduler = createRefreshScheduler({
      stores,
      webhook: linked,
      status,
      setAsides: createSetAsides(stores.webhookLinks, clock),
      tokenRefresh,
      holdsLease: () => Promise.resolve(true),
      clock,
      random: () => chance,
      logger: silentLogger,
    });
    return scheduler;
  };

  const bench: SchedulerFixture = {
    backstage,
    webhook,
    vaultId,
    asked: [],
    outcome: () => DONE,
    inMinutes,
    hold: async (serviceName, changes) => {
      await backstage.admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'JWT' } });
      webhook.tokens.set(serviceName, record(serviceName, changes));
    },
    record,
    renew: (serviceName, minutes) => {
      const { version } = webhook.tokens.get(serviceName) as TokenMetadata;
      const changes = { version: version + 1, updatedAt: inMinutes(0), expiryTime: inMinutes(minutes) };
      webhook.tokens.set(serviceName, record(serviceName, changes));
      return DONE;
    },
    startScheduler,
    pass: async (minutes) => {
      bench.asked = [];
      clock.advance(minutes * MINUTE_MS);
      await scheduler.tick();
      return bench.asked.toSorted();
    },
    attempts: () =>
      backstage.place.state.rows(
        'SELECT service_name, failures, next_at FROM refresh_attempts ORDER BY service_name',
      ),
    clear: async () => {
      clock.advance(25 * 60 * MINUTE_MS);
      await stores.refreshAttempts.forget('9');
      webhook.tokens.clear();
      [webhook.list, webhook.fault] = [undefined, undefined];
      webhook.served.length = 0;
      await stores.webhookLinks.setAside((await stores.webhookLinks.find(vaultId))!, undefined);
      bench.asked = [];
      bench.outcome = (serviceName) => bench.renew(serviceName, 600);
      webhook.refresh = async (_path, { serviceName }) => {
        bench.asked.push(serviceName as string);
        return bench.outcome(serviceName as string);
      };
      startScheduler();
    },
    bind,
    look: async () => (await backstage.admin('GET', '/api/webhook')).json,
    close: async () => {
      await webhook.shut();
      await backstage.close();
    },
  };
  await bench.clear();
  return bench;
}
