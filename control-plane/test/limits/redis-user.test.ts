import { readFileSync } from 'node:fs';
import { createLogger } from '@svault/server-kit/logger';
import { Secret, newId, systemClock } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { NO_REDIS, REDIS_PROGRAM, startRedis } from '@svault/test-kit/redis-server';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createLimits } from '../../src/limits/limits.ts';
import { startLimiter } from '../../src/limits/start-limiter.ts';
import { NO_METRICS } from '../../src/metrics.ts';
import { connectRedis } from '../../src/store/redis/redis.ts';

const PAGE = new URL('../../../docs/deploy/postgresql.md', import.meta.url);
const PASSWORD = 'open-sesame';

test.skipIf(REDIS_PROGRAM === undefined)(
  `the ACL of the deployment page permits each command that the limits need (${REDIS_PROGRAM ?? NO_REDIS})`,
  async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const [, command = ''] = /^ACL (SETUSER .*)$/m.exec(readFileSync(PAGE, 'utf8')) ?? [];
    await redis.call('ACL', ...command.replace('PASSWORD', PASSWORD).split(' '));
    const log = new LogSink();
    const url = new Secret(`${server.url.replace('//', `//svault:${PASSWORD}@`)}/1`);
    const running = await startLimiter({
      connectRedis: (options) => connectRedis(url, options),
      limits: createLimits({ agent_credentials: 1 }),
      clock: systemClock,
      logger: createLogger({ name: 'test', level: 'info', format: 'json', destination: log }),
      metrics: NO_METRICS,
    });
    const [vaultId, callerId] = [newId('vlt'), newId('agt')];
    const traffic = 'agent_credentials' as const;
    try {
      for (const allowed of [true, false])
        expect(
          await running.limiter.admit({ vaultId, callerId, traffic, aggregateLimit: 600, extraCounters: [] }),
        ).toMatchObject({ allowed });
      const counter = createLimits({}).counter('key_reveal', callerId);
      expect(await running.limiter.take(counter, vaultId)).toEqual({ allowed: true });
      expect(await running.limiter.lockouts(vaultId)).toMatchObject([{ callerId }]);
      expect(running.redisIsDown()).toBe(false);
      expect(log.text).not.toContain('away');
      // Not even a command that the process could do without was rejected.
      expect(await redis.call('ACL', 'LOG')).toEqual([]);
    } finally {
      running.close();
      redis.disconnect();
      await server.kill();
    }
  },
);
