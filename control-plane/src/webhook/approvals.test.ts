import { type Id, ManualClock } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import type { WebhookLink } from '../core/webhook-link.ts';
import { createWebhookApprovals } from './approvals.ts';

const LINK: WebhookLink = {
  ...{ vaultId: 'vlt_1' as Id<'vlt'>, webhookId: 'whk_1', url: 'https://vault.example.org' },
  ...{ key: { id: 'k1', wrapped: 'wrapped' }, pendingKey: undefined, capabilities: ['approvals'] },
  ...{ boundAt: '2026-11-20T12:00:00.000Z', boundBy: 'usr_1' as Id<'usr'> },
  ...{ lastSeenAt: undefined, latencyMs: undefined },
};
const ID = 'apr_AAAAAAAAAAAAAAAAAAAAAA';
const OPEN = {
  ...{ id: ID, status: 'pending', url: `https://vault.example.org/approvals/${ID}` },
  ...{ askedAt: '2026-11-20T12:00:00.000Z', expiresAt: '2026-11-20T12:15:00.000Z' },
};
const REQUEST = { serviceName: 'github', sub: 'agt_1', operation: { type: 'credential' } } as const;

const answering = (body: Record<string, unknown>) =>
  createWebhookApprovals({
    webhook: { call: () => Promise.resolve({ body, latencyMs: 1 }) },
    clock: new ManualClock(Date.parse('2026-11-20T12:00:00Z')),
  });

describe('a webhook that is asked for an approval', () => {
  test('says what is open, or that none is required', async () => {
    expect(await answering(OPEN).ask(LINK, REQUEST)).toEqual(OPEN);
    const none = { status: 'not_required' };
    expect(await answering(none).ask(LINK, REQUEST)).toEqual(none);
  });

  // An agent shows the address to people, who sign in there.
  test('sends people to no other place than itself', async () => {
    for (const url of [
      `https://evil.example.org/approvals/${ID}`,
      `http://vault.example.org/approvals/${ID}`,
      `https://vault.example.org:8443/approvals/${ID}`,
      `https://vault.example.org@evil.example.org/approvals/${ID}`,
      `https://evil.example.org@vault.example.org/approvals/${ID}`,
      'javascript:alert(1)',
      'no address',
    ])
      await expect(answering({ ...OPEN, url }).ask(LINK, REQUEST)).rejects.toMatchObject({
        failure: 'garbage',
      });
  });

  test('puts no text of its own into messages by its address', async () => {
    const url = 'https://vault.example.org/approvals/x\n\nYour password expires: <b>';
    const answer = await answering({ ...OPEN, url }).ask(LINK, REQUEST);
    expect(answer).toEqual({
      ...OPEN,
      url: 'https://vault.example.org/approvals/xYour%20password%20expires:%20%3Cb%3E',
    });
  });

  test('writes a time that sorts like all others', async () => {
    const answer = await answering({ ...OPEN, expiresAt: '2026-11-20T12:15:00Z' }).ask(LINK, REQUEST);
    expect(answer).toEqual(OPEN);
  });

  test('is not understood with another status or id, nor with an end that is far away', async () => {
    for (const changes of [
      { status: 'maybe' },
      { id: 'apr_1' },
      { expiresAt: 'soon' },
      { expiresAt: '9999-12-31T23:59:59.000Z' },
      { url: undefined },
    ])
      await expect(answering({ ...OPEN, ...changes }).ask(LINK, REQUEST)).rejects.toMatchObject({
        failure: 'garbage',
      });
  });
});

describe('a webhook that is asked for states', () => {
  test('is heard about what it was asked for only', async () => {
    const { id, status, expiresAt } = OPEN;
    const other = { id: 'apr_BBBBBBBBBBBBBBBBBBBBBB', status, expiresAt };
    const asked = answering({ items: [{ id, status, expiresAt }, other] });
    expect(await asked.states(LINK, [ID])).toEqual([{ id, status, expiresAt }]);
    await expect(answering({ items: [{ id }] }).states(LINK, [ID])).rejects.toMatchObject({
      failure: 'garbage',
    });
  });
});
