import { expect, test } from 'vitest';
import { type AuditEvent, sentenceText } from './event-words.ts';

const EVENT = { seq: 1, outcome: 'success', userEmail: 'ann@example.org' };
const PROXY = { proxyId: 'prx_1', proxyName: 'demo', serviceName: 'github' };
const AGENT = { agentId: 'agt_1', agentName: 'demo' };

test.each([
  [{ eventType: 'PROXY_CREDENTIAL_USE', ...PROXY }, 'Proxy demo used github'],
  [{ eventType: 'AGENT_CREDENTIAL_ACCESS', ...AGENT, serviceName: 'github' }, 'demo asked for github'],
  [{ eventType: 'PROXY_CREATED', ...PROXY }, 'ann@example.org created the proxy demo for github'],
  [
    { eventType: 'PROXY_DELETED', proxyId: 'prx_1', detail: { name: 'old' } },
    'ann@example.org deleted the proxy old',
  ],
  [{ eventType: 'KEY_REVOKED', ...PROXY }, 'ann@example.org revoked the key of the proxy demo'],
  [{ eventType: 'KEY_REVEALED', ...AGENT }, 'ann@example.org revealed the key of demo'],
  [
    { eventType: 'KEY_REVEALED', ...AGENT, proxyId: 'prx_1', proxyName: 'api', serviceName: 'github' },
    'demo revealed the key of the proxy api',
  ],
  [{ eventType: 'GRANT_CREATED', ...AGENT, serviceName: 'npm' }, 'ann@example.org granted npm to demo'],
  [
    { eventType: 'POLICY_ATTACHED', ...AGENT, detail: { policyId: 'pol_1', name: 'office' } },
    'ann@example.org attached the policy office to the agent demo',
  ],
  [
    { eventType: 'POLICY_DETACHED', serviceName: 'npm', detail: { policyId: 'pol_1', name: 'office' } },
    'ann@example.org detached the policy office from the credential npm',
  ],
  [
    { eventType: 'POLICY_DETACHED', proxyId: 'prx_1', proxyName: 'demo', detail: { policyId: 'pol_1' } },
    'ann@example.org detached a policy from the proxy demo',
  ],
  [
    { eventType: 'APPROVAL_REQUESTED', ...AGENT, userEmail: undefined, serviceName: 'npm' },
    'demo asked for an approval to use npm',
  ],
  [
    { eventType: 'APPROVAL_REQUESTED', ...PROXY, userEmail: undefined },
    'Proxy demo asked for an approval to use github',
  ],
  [{ eventType: 'APPROVAL_APPROVED', ...PROXY }, 'ann@example.org approved github for demo'],
  [
    { eventType: 'APPROVAL_DENIED', ...AGENT, userEmail: undefined, serviceName: 'npm' },
    'An approver denied npm to demo',
  ],
])('the event %j reads as a sentence that tells proxies from agents', (event, sentence) => {
  expect(sentenceText({ ...EVENT, ...event } as unknown as AuditEvent)).toBe(sentence);
});
