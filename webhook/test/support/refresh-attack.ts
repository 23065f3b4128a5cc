import { expect } from 'vitest';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import type { Answer, BoundWebhook } from './bound-webhook.ts';

/** What the attacks need: the owner's provider, one of the attacker's, and a memory for what the service is told. */
interface Scene {
  readonly webhook: BoundWebhook;
  readonly secret: string;
  readonly honest: TokenEndpoint;
  readonly collector: TokenEndpoint;
  ask(path: string, body: object): Promise<Answer>;
}

/**
 * What a broken-in service can try to have a refresh token or a client's secret sent to a token URL of its own.
 *
 * @param webhook with `SV_EGRESS_ALLOW` for the loopback
 * @param secret ASCII, so that it could be a token
 * @returns everything that the service was told
 */
export const attackByTokenUrl = (webhook: BoundWebhook, secret: string): Promise<readonly string[]> =>
  inScene(webhook, secret, async ({ honest, collector, ask }) => {
    const elsewhere = { tokenUrl: collector.url, clientId: 'attacker' };
    const store = (mediated: boolean) =>
      webhook.store(
        'target',
        jwt(secret, { tokenUrl: honest.url, clientId: 'client', clientSecret: secret, mediated }),
      );
    const seen = (): unknown =>
      honest.calls.at(-1)?.form.get('refresh_token') === `refresh-${secret}` && honest.calls.length;

    await store(false);
    for (const hints of [elsewhere, { ...elsewhere, provider: elsewhere }])
      await ask('/v1/refresh-notify', { serviceName: 'target', reason: 'manual', ...hints });
    expect(seen()).toBe(2);

    await store(true);
    for (const more of [elsewhere, { provider: elsewhere }, { lease: elsewhere }]) {
      const { leaseId } = (await ask('/v1/refresh', { phase: 'get', serviceName: 'target', ...more })).json;
      await ask('/v1/refresh', { phase: 'update', leaseId, clientSecret: 'x', ...more });
    }
    expect(seen()).toBe(5);
    for (const op of ['tokens.put', 'tokens.patch', 'providers.put'])
      expect((await ask('/v1/storage', { op, serviceName: 'target', ...elsewhere })).status).toBe(400);

    // A record that it writes itself, under a lease for the owner's: nothing of the former is carried over.
    const { leaseId } = (await ask('/v1/refresh', { phase: 'get', serviceName: 'target' })).json;
    await webhook.store('target', jwt('mine', { ...elsewhere, mediated: true }));
    expect((await ask('/v1/refresh', { phase: 'update', leaseId, clientSecret: 'x' })).json.code).toBe(
      'LEASE_EXPIRED',
    );
    const own = (await ask('/v1/refresh', { phase: 'get', serviceName: 'target' })).json;
    await ask('/v1/refresh', { phase: 'update', leaseId: own.leaseId, clientSecret: 'x' });
    expect(collector.calls.map(({ form }) => form.get('refresh_token'))).toEqual(['refresh-mine']);
    expect(JSON.stringify(collector.calls.map(({ headers, form }) => [headers, [...form]]))).not.toContain(
      secret,
    );
  });

/**
 * What a broken-in service is told by mediated refreshes, whatever the provider answers.
 *
 * @param webhook with `SV_EGRESS_ALLOW` for the loopback
 * @param secret ASCII: part of every token
 * @returns everything that the service was told
 */
export const attackByMediation = (webhook: BoundWebhook, secret: string): Promise<readonly string[]> =>
  inScene(webhook, secret, async ({ honest, ask }) => {
    const provider = { tokenUrl: honest.url, clientId: 'client', mediated: true };
    const pair = { access_token: `fresh-${secret}`, refresh_token: `rotated-${secret}` };
    for (const [status, body, outcome] of [
      [200, pair, 'refreshed'],
      [200, { ...pair, expires_in: pair.access_token, error_description: secret }, 'refreshed'],
      [200, { access_token: `${secret} with a space` }, 'provider_error'],
      [400, { error: `refresh-${secret}`, error_uri: secret }, 'provider_error'],
      [400, { error: 'invalid_grant', error_description: `refresh-${secret}` }, 'invalid_grant'],
      [302, pair, 'provider_error'],
    ] as const) {
      await webhook.store('target', jwt(secret, provider));
      honest.misbehave({ status, headers: { 'x-token': secret }, body: JSON.stringify(body) });
      const { leaseId } = (await ask('/v1/refresh', { phase: 'get', serviceName: 'target' })).json;
      const update = { phase: 'update', leaseId, clientSecret: 'x' };
      expect((await ask('/v1/refresh', update)).json.outcome).toBe(outcome);
      await ask('/v1/refresh', update);
      await ask('/v1/storage', { op: 'tokens.get', serviceName: 'target' });
    }
    await ask('/v1/refresh-notify', { serviceName: 'target', reason: 'manual' });
    await ask('/v1/storage', { op: 'audit.list' });
    expect(honest.calls).toHaveLength(6);
  });

const jwt = (secret: string, provider: object) => ({
  tokenType: 'JWT',
  accessToken: `access-${secret}`,
  refreshToken: `refresh-${secret}`,
  expiryTime: '2026-01-01T00:00:00Z',
  provider,
});

async function inScene(
  webhook: BoundWebhook,
  secret: string,
  play: (scene: Scene) => Promise<void>,
): Promise<readonly string[]> {
  const told: string[] = [];
  const [honest, collector] = [await startTokenEndpoint(), await startTokenEndpoint()];
  const ask: Scene['ask'] = async (path, body) => {
    const answer = await webhook.signed(path, body);
    told.push(answer.text, JSON.stringify([...answer.headers]));
    return answer;
  };
  try {
    await play({ webhook, secret, honest, collector, ask });
    return told;
  } finally {
    await honest.close();
    await collector.close();
  }
}
