import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import type { RuleSettings } from '../../src/core/policy.ts';
import { type Answer, clientOf } from './management-service.ts';
import { type PairAgent, pathFor, storeOn } from './pair-agents.ts';

const require = createRequire(import.meta.url);
const packaged = require.resolve('@ip-location-db/geo-whois-asn-country-mmdb/package.json');

/** A packaged database of countries. */
export const COUNTRIES_MMDB = join(dirname(packaged), 'geo-whois-asn-country.mmdb');

/** Of a control plane that believes X-Forwarded-For, knows countries, and limits no agent by itself. */
export const POLICY_SETTINGS = {
  SV_TRUSTED_PROXIES: '127.0.0.0/8',
  SV_GEOIP_DB: COUNTRIES_MMDB,
  SV_LIMIT_AGENT_CREDENTIALS: '100000',
  SV_LIMIT_USER_AGGREGATE: '100000',
} as const;

/** A pair with these settings that holds these credentials. */
export async function startPolicyPair(...services: readonly string[]): Promise<TestPair> {
  const pair = await startPair({ logLevel: 'silent', env: POLICY_SETTINGS });
  for (const service of services) await storeOn(pair, service, { tokenType: 'PlainText', value: 'v' });
  return pair;
}

export interface Target {
  readonly targetType: 'agent' | 'proxy' | 'token';
  readonly targetId: string;
}

export const toAgent = ({ id }: PairAgent): Target => ({ targetType: 'agent', targetId: id });
export const toToken = (serviceName: string): Target => ({ targetType: 'token', targetId: serviceName });

/** Calls about policies on a running pair. */
export const policySteps = (pair: () => TestPair) => ({
  make: async (name: string, ...rules: RuleSettings[]): Promise<string> =>
    (await pair().admin.call<{ id: string }>('POST', '/api/policies', { name, rules })).id,
  attach: (policyId: string, target: Target): Promise<unknown> =>
    pair().admin.call('POST', `/api/policies/${policyId}/attachments`, target),
  detach: (policyId: string, target: Target): Promise<unknown> =>
    pair().admin.call('DELETE', `/api/policies/${policyId}/attachments`, target),
  change: (policyId: string, changes: object): Promise<unknown> =>
    pair().admin.call('PATCH', `/api/policies/${policyId}`, changes),
  /** An agent's request with an address in X-Forwarded-For, from a trusted proxy. */
  askFrom: (agent: PairAgent, address: string, serviceName = 'github'): Promise<Answer> =>
    clientOf(pair().controlPlaneUrl())('GET', pathFor(serviceName), {
      headers: { authorization: `Bearer ${agent.apiKey}`, 'x-forwarded-for': address },
    }),
});
