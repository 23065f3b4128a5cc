import { afterAll, beforeAll, expect, test } from 'vitest';
import { startKeyAddingProxy } from '../mcp-clients/key-adding-proxy.ts';
import { runSuite } from '../mcp-clients/suite.ts';
import type { SuiteRun } from '../mcp-clients/suite-verdict.ts';
import type { Door } from './door.ts';
import { steady } from './record.ts';
import { type Upstreams, startUpstreams } from './upstreams.ts';

let upstreams: Upstreams;
beforeAll(async () => {
  upstreams = await startUpstreams();
});
afterAll(() => upstreams.stop());

/** The proxy does look at `Host` and `Origin`, whether or not the upstream does. */
const NOT_COMPARED = new Set(['dns-rebinding-protection']);

/** What the public suite finds behind a door, right or wrong. */
async function found({ url, bearer }: Door, revision: string): Promise<unknown> {
  const keyAdding = await startKeyAddingProxy({ target: () => url, apiKey: () => bearer });
  const { pathname } = new URL(url);
  try {
    const words = ['server', '--url', keyAdding.url + pathname, '--requirements', revision];
    return outcomes((await runSuite(words)).run);
  } finally {
    await keyAdding.close();
  }
}

const outcomes = (run: SuiteRun): unknown =>
  [...run]
    .filter(([scenario]) => !NOT_COMPARED.has(scenario))
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([scenario, checks]) => [
      scenario,
      // Steps on the way are said once for each event, of which there are as many as time lets there be.
      checks
        .filter(({ status }) => status !== 'INFO')
        .map(({ id, status, errorMessage }) => steady([id, status, errorMessage])),
    ]);

test.each([
  ['v1', '2025-11-25'],
  ['v2', '2025-11-25'],
  ['v2', '2026-07-28'],
] as const)(
  'the public suite finds the same at the server %s, at the wire of %s, as without the proxy',
  async (name, revision) => {
    const { service, credential, [name]: upstream } = upstreams;
    const direct = await found({ url: upstream.url, bearer: credential }, revision);
    expect(JSON.stringify(direct)).toContain('"SUCCESS"');
    expect(await found(await service.doorTo(upstream, credential), revision)).toEqual(direct);
  },
);
