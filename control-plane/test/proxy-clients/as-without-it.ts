import { tracesOf } from '@svault/test-kit/secret-forms';
import { expect } from 'vitest';
import type { Door } from './door.ts';
import type { Run } from './sdk-steps.ts';
import type { Upstreams } from './upstreams.ts';

/**
 * Runs a list of steps at an upstream, and once more through a proxy: nothing a client can see may differ. What came back
 * through the proxy never holds the credential, and what reached the upstream never the proxy's key.
 *
 * @returns what the steps came to
 */
export async function sameThroughProxy(
  upstreams: Upstreams,
  name: 'v1' | 'v2',
  run: (door: Door) => Promise<Run>,
): Promise<Run['steps']> {
  const { service, credential, [name]: upstream } = upstreams;
  const direct = await run({ url: upstream.url, bearer: credential });
  const door = await service.doorTo(upstream, credential);
  const before = upstream.seen.length;
  const proxied = await run(door);
  expect(proxied.steps).toEqual(direct.steps);
  expect(tracesOf(credential, Buffer.from(proxied.received))).toEqual([]);
  const reached = upstream.seen.slice(before);
  expect(reached.length).toBeGreaterThan(0);
  expect(JSON.stringify(reached)).not.toContain(door.bearer);
  return direct.steps;
}
