import { type Pair, startPair } from '@svault/compose/pair';
import { startPostgres } from '@svault/test-kit/postgres-server';
import { NO_REDIS, REDIS_PROGRAM, startRedis } from '@svault/test-kit/redis-server';

/**
 * The pair with its state in PostgreSQL, whose commits reach the disk, and its limits in Redis. Both run where this
 * process does: on the load's core, so that the server's has the control plane alone.
 *
 * @param options.env further settings of the pair
 */
export async function startPostgresPair(
  options: Parameters<typeof startPair>[0],
): Promise<{ readonly pair: Pair; readonly stop: () => Promise<void> }> {
  if (REDIS_PROGRAM === undefined) throw new Error(`the row of PostgreSQL and Redis ${NO_REDIS}`);
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of stops.splice(0).reverse()) await step();
  };
  try {
    const postgres = await startPostgres({ durable: true });
    stops.push(postgres.remove);
    const redis = await startRedis();
    stops.push(redis.kill);
    const env = { ...options.env, SV_DATABASE_URL: postgres.url, SV_REDIS_URL: redis.url };
    const pair = await startPair({ ...options, env });
    stops.push(pair.stop);
    return { pair, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
