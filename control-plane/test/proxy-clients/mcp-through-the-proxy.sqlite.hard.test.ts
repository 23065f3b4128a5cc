import { afterAll, beforeAll, test } from 'vitest';
import { sameThroughProxy } from './as-without-it.ts';
import { v1, v2 } from './callers.ts';
import { rawSteps } from './raw-steps.ts';
import { sdkSteps } from './sdk-steps.ts';
import { type Upstreams, startUpstreams } from './upstreams.ts';

let upstreams: Upstreams;
beforeAll(async () => {
  upstreams = await startUpstreams();
});
afterAll(() => upstreams.stop());

const CLIENTS = {
  'the first SDK’s client': v1,
  'the second SDK’s client, as it is': v2('legacy'),
  'the second SDK’s client, where it asks first': v2('auto'),
} as const;

test.each(
  Object.entries(CLIENTS).flatMap(([client, connect]) =>
    (['v1', 'v2'] as const).map((server) => [client, server, connect] as const),
  ),
)('%s works at the server of %s as without the proxy', async (_client, server, connect) => {
  await sameThroughProxy(upstreams, server, (door) => sdkSteps(connect, door));
});

test('requests by hand are answered by the second SDK’s server as without the proxy', async () => {
  await sameThroughProxy(upstreams, 'v2', rawSteps);
});
