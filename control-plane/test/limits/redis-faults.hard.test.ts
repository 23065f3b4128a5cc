import { monitorEventLoopDelay } from 'node:perf_hooks';
import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Call, type ManagementService, clientOf, startService } from '../support/management-service.ts';
import { CREDENTIALS } from '../support/pair-agents.ts';
import { atRedis } from './redis-fixture.ts';

// README, "Limits": each response within 250 ms, limits in force, and Redis used again within 2 s of its return.

const MAX_MS = 250;
const BACK_MS = 2_000;
const FAULT_MS = 1_500;
const ROUNDS = 5;
const LIMIT = 60;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(REDIS_PROGRAM === undefined)(
  `under faults of ${REDIS_PROGRAM ?? `Redis: ${NO_REDIS}`}`,
  () => {
    let server: RedisServer;
    let service: ManagementService;
    beforeAll(async () => {
      server = await startRedis();
      service = await startService({ SV_REDIS_URL: server.url, SV_LIMIT_USER_AGGREGATE: '1000000' });
    });
    afterAll(async () => {
      await service.stop();
      await server.kill();
    });

    const makeAgent = async (): Promise<Call> => {
      const { apiKey } = (await service.admin('POST', '/api/agents', { body: { name: 'builder' } })).json;
      return clientOf(service.running.url, { authorization: `Bearer ${apiKey}` });
    };

    /** Sends requests without a pause. No agent gets more than its limit. */
    const drive = () => {
      // On a busy machine this process stalls, client and server alike: that is not a wait for Redis.
      const stalls = monitorEventLoopDelay({ resolution: 5 });
      stalls.enable();
      let stopped = false;
      let [asked, maxMs] = [0, 0];
      const one = async (): Promise<void> => {
        while (!stopped) {
          const agent = await makeAgent();
          let admitted = 0;
          for (let time = 0; time < LIMIT + 20 && !stopped; time += 1) {
            const began = performance.now();
            const { status } = await agent('GET', CREDENTIALS);
            maxMs = Math.max(maxMs, performance.now() - began);
            asked += 1;
            expect(status).toBeOneOf([200, 429]);
            if (status === 200) admitted += 1;
          }
          expect(admitted).toBeLessThanOrEqual(LIMIT);
        }
      };
      const running = [one(), one(), one()];
      return async (): Promise<{ asked: number; maxMs: number; stallMs: number }> => {
        stopped = true;
        await Promise.all(running);
        stalls.disable();
        return { asked, maxMs, stallMs: stalls.max / 1e6 };
      };
    };

    const isReady = (status: string) => async (): Promise<void> =>
      expect((await service.anyone('GET', '/readyz')).json).toEqual({ status });
    test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
      ['stopped', () => server.kill(), () => server.start()],
      ['paused', async () => server.pause(), async () => server.resume()],
      // Replies come too late.
      [
        'slow',
        () => atRedis(server, (redis) => redis.client('PAUSE', FAULT_MS, 'ALL')),
        () => Promise.resolve(),
      ],
      [
        'full',
        () => atRedis(server, (redis) => redis.config('SET', 'maxmemory', '1')),
        () => atRedis(server, (redis) => redis.config('SET', 'maxmemory', '0')),
      ],
      [
        'a replica',
        () => atRedis(server, (redis) => redis.replicaof('127.0.0.1', 1)),
        () => atRedis(server, (redis) => redis.replicaof('NO', 'ONE')),
      ],
    ])(
      'while Redis is %s, no response takes longer than 250 ms and no agent gets more than its limit; Redis is used again within 2 s',
      async (name, begin, end) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const stop = drive();
          await sleep(200);
          await begin();
          await vi.waitFor(isReady('degraded'), { timeout: FAULT_MS, interval: 10 });
          await sleep(FAULT_MS);
          await end();
          const ended = performance.now();
          await vi.waitFor(isReady('ok'), { timeout: BACK_MS, interval: 10 });
          const backMs = performance.now() - ended;
          await sleep(200);
          const { asked, maxMs, stallMs } = await stop();
          process.stdout.write(
            `${name}: ${asked} requests, longest ${maxMs.toFixed(0)} ms (stalls to ${stallMs.toFixed(0)} ms), back in ${backMs.toFixed(0)} ms\n`,
          );
          expect(asked).toBeGreaterThan(100);
          expect(maxMs).toBeLessThan(MAX_MS + stallMs);
        }
      },
    );

    test.each<[string, (redis: Redis) => Promise<unknown>]>([
      ['emptied', (redis) => redis.flushall()],
      ['without its scripts', (redis) => redis.script('FLUSH')],
    ])(
      'while Redis is %s again and again, no response takes longer than 250 ms and no agent gets more than its limit',
      async (_, spoil) => {
        const stop = drive();
        for (let time = 0; time < 50; time += 1) {
          await atRedis(server, spoil);
          await sleep(20);
        }
        const { asked, maxMs, stallMs } = await stop();
        expect(asked).toBeGreaterThan(100);
        expect(maxMs).toBeLessThan(MAX_MS + stallMs);
        await isReady('ok')();
      },
    );
  },
);
