import { expect, test } from 'vitest';
import { processOnTime, twoProcessesOnTime } from './limiters-on-time.ts';
import { AS_SPECIFIED, WITH_SMALL_NUMBERS, compareMany } from './random-schedules.ts';
import { describeWithRedis } from './redis-fixture.ts';

// Random schedules of REST, MCP, handshakes, batches and proxy requests.

test('the process limiter decides as the model does, by the numbers of the specification', async () => {
  const asked = await compareMany(AS_SPECIFIED, 60, () => processOnTime(AS_SPECIFIED.limits));
  expect(asked).toBeGreaterThan(5_000);
});

test('the process limiter decides as the model does, by numbers so small that all of them matter', async () => {
  const { limits } = WITH_SMALL_NUMBERS;
  const asked = await compareMany(WITH_SMALL_NUMBERS, 2_000, () => processOnTime(limits));
  expect(asked).toBeGreaterThan(10_000);
});

describeWithRedis('the limiter over Redis', (redis) => {
  test('two processes in turn decide as the model does', async () => {
    const connection = await redis().connect();
    const { limits } = WITH_SMALL_NUMBERS;
    const asked = await compareMany(WITH_SMALL_NUMBERS, 200, () => twoProcessesOnTime(limits, connection));
    expect(asked).toBeGreaterThan(1_000);
    expect(connection.usable()).toBe(true);
  });
});
