import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scrape } from '../support/exposition.ts';
import { clientOf } from '../support/management-service.ts';
import { agentOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';

// What waits for the background jobs, which run here when a test says so.

const jobs = jobsByHand();
let service: PairedService;

beforeAll(async () => {
  service = await startPairedService({
    env: { SV_METRICS_LISTEN: '127.0.0.1:0' },
    startJob: jobs.startJob,
  });
  await shipAll();
});
afterAll(() => service.stop());

const valueOf = async (name: string): Promise<number> =>
  (await scrape(service.pair, 'control-plane')).sum(new RegExp(`^${name}(?:\\{|$)`));

/** A run of the shipper does not wait for the webhook. */
async function shipAll(): Promise<void> {
  do await jobs.run('audit shipping');
  while ((await valueOf('svault_audit_undelivered_events')) > 0);
}

test('the events that a webhook has not acknowledged are counted, with the age of the oldest', async () => {
  await agentOn(service.pair, 'github');
  service.clock.advance(90_000);
  expect(await valueOf('svault_audit_undelivered_events')).toBeGreaterThan(1);
  expect(await valueOf('svault_audit_undelivered_age_seconds')).toBeGreaterThanOrEqual(90);
  await shipAll();
  expect(await valueOf('svault_audit_undelivered_age_seconds')).toBe(0);
});

test('requests that wait for a decision, and the messages about them, are counted until they end', async () => {
  const channel = { type: 'webhook', name: 'on call', url: 'https://hooks.example.org/canary' };
  expect((await service.admin('POST', '/api/notifications', { body: channel })).status).toBe(201);
  await service.admin('PATCH', '/api/vault', { body: { accessRequests: true } });
  const { apiKey } = await agentOn(service.pair);
  const asAgent = clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${apiKey}` });
  const asked = await asAgent('POST', '/api/agents/access-requests', { body: { service: 'github' } });
  expect(asked.status).toBe(202);
  expect(await valueOf('svault_approvals_pending')).toBe(1);
  expect(await valueOf('svault_notifications_queued')).toBe(1);
  await service.admin('POST', `/api/approvals/${asked.json.approval.id}/deny`);
  expect(await valueOf('svault_approvals_pending')).toBe(0);
});

test('a run of a background job is counted, with the time of its success', async () => {
  await jobs.run('token refresh');
  const runs = (outcome: string): Promise<number> =>
    valueOf(`svault_task_runs_total\\{task="token refresh",outcome="${outcome}"\\}`);
  const succeeded = await runs('succeeded');
  const at = await valueOf('svault_task_last_success_timestamp_seconds\\{task="token refresh"\\}');
  expect(at).toBe(service.clock.now() / 1_000);
  expect(succeeded).toBeGreaterThan(0);
  expect(await runs('failed')).toBe(0);
});

test('an offline webhook is counted until it answers', async () => {
  const agent = await agentOn(service.pair, 'github');
  await service.pair.stop('webhook');
  expect((await service.admin('GET', '/api/webhook')).status).toBe(200);
  expect(await valueOf('svault_webhooks_offline')).toBe(1);
  expect(await valueOf('svault_webhook_call_seconds_count\\{.*outcome="unreachable"\\}')).toBeGreaterThan(0);
  expect((await agent.ask('github')).status).toBe(503);
  expect(
    await valueOf('svault_access_decisions_total\\{channel="rest",outcome="WEBHOOK_UNAVAILABLE"\\}'),
  ).toBe(1);
});
