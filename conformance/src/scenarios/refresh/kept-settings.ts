import type { WebhookCheck } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import { NotTestable } from '../../check/outcome.ts';
import type { Tools } from '../../check/tools.ts';
import { givenLease, updateUnder } from './lease-hand.ts';
import { basicClient, givenRefreshable, metadataOf, notice } from './refreshable.ts';

type Members = Readonly<Record<string, unknown>>;

/** Every setting that metadata shows and any webhook knows, none of them the default. */
const SETTINGS: Members = {
  delivery: 'proxy-only',
  allowedHosts: ['api.example:8443', 'http://other.example'],
  allowedHeaders: ['x-mine', 'x-other'],
};
const REQUESTS = [
  { methods: ['GET', 'POST'], paths: ['/repos/*/issues'], hosts: ['api.example:8443'] },
  { tools: ['get_*'], paths: ['/mcp'], arguments: { '/repo': ['acme/site', 1] } },
];
const SEALED = [
  'tokenType',
  'delivery',
  'allowedHosts',
  'allowedHeaders',
  'provider',
  'createdAt',
  'empty',
  'requests',
  'allowedQuery',
];

/** Every setting that metadata shows and this webhook knows. */
export const settingsFor = ({ claims }: Pick<Tools, 'claims'>): Members => ({
  ...SETTINGS,
  ...(claims.has('request-rules') && { requests: REQUESTS }),
  ...(claims.has('http-proxy') && { allowedQuery: ['key', 'token'] }),
});

/** A value as text, whatever the order of lists and members is. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.map(canonical).toSorted());
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  return canonical(Object.entries(value).map(([name, each]) => `${name} ${canonical(each)}`));
}

/**
 * Expects that what is sealed with a record is the same after something was done that is no store.
 * @param change throws, or returns once it is done
 */
export async function expectKept(tools: Tools, name: string, change: () => Promise<unknown>): Promise<void> {
  const { token: before } = await metadataOf(tools, name);
  await change();
  const { answer, token: after } = await metadataOf(tools, name);
  for (const member of SEALED)
    expectThat(
      canonical(after[member]) === canonical(before[member]),
      answer,
      `${member} as before: ${JSON.stringify(before[member])}`,
    );
}

/** Protocol sections 5.5 and 7: a refresh changes the tokens, and nothing that is sealed with them. */
export const KEPT_SETTINGS_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'refresh-notify.keeps-settings',
    title: 'a refresh on notice leaves delivery, hosts, headers, rules and provider as they were stored',
    requirements: ['SAV-08', 'TRU-01'],
    claims: ['store', 'storage', 'refresh-notify'],
    run: async (tools) => {
      const { name, provider } = await givenRefreshable(tools, { beside: settingsFor(tools) });
      await expectKept(tools, name, async () => {
        const noticed = await notice(tools, { serviceName: name, reason: 'expired' });
        await provider.arrived(1);
        // Answered 202, it may still be at work: a second notice waits for the first, or finds it done.
        if (noticed.status === 202) await notice(tools, { serviceName: name, reason: 'expired' });
        if (provider.calls.length === 0) throw new NotTestable('the token was not refreshed', noticed);
      });
    },
  },
  {
    id: 'lease.update-keeps-settings',
    title: 'a refresh under a lease leaves delivery, hosts, headers, rules and provider as they were stored',
    requirements: ['SAV-08', 'TRU-01'],
    claims: ['store', 'storage', 'sv-refresh'],
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools, basicClient(), settingsFor(tools));
      await expectKept(tools, record.name, async () =>
        expectOk(await updateUnder(tools, leaseId, authentication)),
      );
    },
  },
];
