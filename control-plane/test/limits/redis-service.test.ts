import { createLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { NO_REDIS, REDIS_PROGRAM, startRedis } from '@svault/test-kit/redis-server';
import { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { startControlPlane } from '../../src/serve.ts';
import { clientOf, makePlace } from '../support/management-service.ts';
import { CREDENTIALS } from '../support/pair-agents.ts';
import { uniqueName } from '../support/unique-name.ts';

/** Redis is used again within 2 s of its return; a busy machine takes longer to notice. */
const SOON = { timeout: 15_000, interval: 50 };

describe.skipIf(REDIS_PROGRAM === undefined)(
  `a control plane over Redis (${REDIS_PROGRAM ?? NO_REDIS})`,
  () => {
    test('the control plane reports where limits are kept, and keeps them when Redis rejects its password', async () => {
      const server = await startRedis();
      const redis = new Redis(server.url);
      await redis.config('SET', 'requirepass', 'open-sesame');
      const place = await makePlace({
        SV_REDIS_URL: server.url.replace('//', '//:open-sesame@'),
        SV_METRICS_LISTEN: '127.0.0.1:0',
      });
      const log = new LogSink();
      const logger = createLogger({ name: 'test', level: 'info', format: 'json', destination: log });
      const running = await startControlPlane(controlPlaneConfig(place.env), {
        clock: new ManualClock(),
        logger,
      });
      try {
        const anyone = clientOf(running.url);
        const metrics = clientOf(running.metricsUrl ?? '');
        const admin = clientOf(running.url, { authorization: `Bearer ${place.adminKey}` });
        const { apiKey } = (await admin('POST', '/api/agents', { body: { name: uniqueName('builder') } }))
          .json;
        const agent = clientOf(running.url, { authorization: `Bearer ${apiKey}` });
        const ask = async (times: number): Promise<number[]> => {
          const statuses = [];
          for (let time = 0; time < times; time += 1) statuses.push((await agent('GET', CREDENTIALS)).status);
          return statuses;
        };
        const expectBackend = async (status: string, backend: string): Promise<void> => {
          const ready = await anyone('GET', '/readyz');
          expect([ready.status, ready.json]).toEqual([200, { status }]);
          const { text } = await metrics('GET', '/metrics');
          const backends = [...text.matchAll(/^svault_limiter_backend\{backend="(\w+)".*\} (\d)$/gm)];
          expect(Object.fromEntries(backends.map(([, name, value]) => [name, value]))).toEqual({
            redis: backend === 'redis' ? '1' : '0',
            process: backend === 'process' ? '1' : '0',
          });
        };

        await expectBackend('ok', 'redis');
        expect(await ask(40)).toEqual(Array.from({ length: 40 }, () => 200));
        expect(await redis.keys('svault:*')).not.toEqual([]);

        await redis.config('SET', 'requirepass', 'changed');
        await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        expect((await ask(30)).filter((status) => status === 200)).toHaveLength(20);
        await vi.waitFor(() => expectBackend('degraded', 'process'), SOON);
        const { text } = await metrics('GET', '/metrics');
        expect(text).toMatch(
          /^svault_limiter_decisions_total\{scope="agent_credentials",verdict="admitted"[^}]*\} 60$/m,
        );
        expect(text).toMatch(
          /^svault_limiter_decisions_total\{scope="penalty_box",verdict="denied"[^}]*\} 9$/m,
        );
        expect((await admin('GET', '/api/limits/lockouts')).json.items).toHaveLength(1);

        await redis.config('SET', 'requirepass', 'open-sesame');
        await vi.waitFor(() => expectBackend('ok', 'redis'), SOON);
        expect(await ask(1)).toEqual([429]);
        expect(log.text).toContain('Redis is away; this process keeps the limits by itself');
        expect(log.text).not.toContain('sesame');
      } finally {
        await running.close();
        await place.remove();
        redis.disconnect();
        await server.kill();
      }
    });
  },
);
