import { describe, expect, it } from 'vitest';
import { callProxy, putProxy } from '../support/proxy-calls.ts';
import { SEED, FAILED, useMintingFixture } from '../support/minting-fixture.ts';

const fixture = useMintingFixture();
const { answers, aws, gcp, stored, delivered, expectNoLeaks } = fixture;

describe('a minted credential', () => {
  // spec: A raw cloud credential returns a short-lived minted token.
  it('is cached for two thirds of its lifetime, for each caller separately', async () => {
    await stored('kept', aws());
    const before = fixture.sts.calls.length;
    const first = await delivered('kept');
    fixture.webhook.clock.advance(2_399_000);
    expect((await delivered('kept')).accessToken).toBe(first.accessToken);
    const other = await delivered('kept', { sub: 'agt_BBBBBBBBBBBBBBBBBBBBBB' });
    expect(other.accessToken).not.toBe(first.accessToken);
    fixture.webhook.clock.advance(1_000);
    expect((await delivered('kept')).accessToken).not.toBe(first.accessToken);
    expect(fixture.sts.calls.length).toBe(before + 3);
  });

  it('is evicted once its record is replaced, or deleted and stored again', async () => {
    await stored('gone', aws());
    const first = await delivered('gone');
    await stored('gone', aws({ durationSeconds: 900 }));
    expect((await delivered('gone')).accessToken).not.toBe(first.accessToken);
    expect(fixture.sts.calls.at(-1)).toMatchObject({ DurationSeconds: '900' });
    await fixture.webhook.storage({ op: 'tokens.delete', serviceName: 'gone' });
    expect((await fixture.webhook.credential('gone')).json.code).toBe('NOT_FOUND');
    const before = fixture.sts.calls.length;
    await stored('gone', aws());
    await delivered('gone');
    expect(fixture.sts.calls.length).toBe(before + 1);
  });

  it('is not delivered if its record was replaced or deleted meanwhile', async () => {
    const changes = {
      replaced: () => stored('replaced', aws({ durationSeconds: 900 })),
      gone: () => fixture.webhook.storage({ op: 'tokens.delete', serviceName: 'gone' }),
    };
    for (const [name, change] of Object.entries(changes)) {
      await stored(name, aws());
      fixture.sts.answer = async (call) => {
        await change();
        return fixture.answerOfSts(call);
      };
      const { status, json } = await fixture.webhook.credential(name);
      expect([name, status, json.code]).toEqual([name, 409, 'VERSION_CONFLICT']);
    }
  });

  it('is requested once for a hundred concurrent tickets, all of which are consumed', async () => {
    await stored('asked', aws());
    const before = fixture.sts.calls.length;
    const tickets = Array.from({ length: 100 }, () => fixture.webhook.credentialTicket('asked'));
    const send = (ticket: string) => fixture.webhook.send(`/v1/credential?ticket=${ticket}`);
    const answers = await Promise.all(tickets.map(send));
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
    expect(new Set(answers.map(({ json }) => json.token.accessToken)).size).toBe(1);
    expect(fixture.sts.calls.length).toBe(before + 1);
    expect((await send(tickets[0]!)).status).toBe(401);
  });

  it('is delivered sealed if the record requires it', async () => {
    const { createSealingKey, openSealed } = await import('@svault/shared/sealed');
    const key = createSealingKey();
    await stored('sealed otp', {
      tokenType: 'TOTP',
      secret: SEED,
      delivery: 'sealed',
      recipients: [key.publicJwk],
    });
    const { text } = await fixture.webhook.credential('sealed otp', { cnf: { jkt: key.thumbprint } });
    const { token } = (await openSealed(text, key)).reveal();
    expect(token).toMatchObject({ serviceName: 'sealed otp', tokenType: 'TOTP' });
    expect(token.expiresIn).toBeGreaterThan(0);
    expect((await fixture.webhook.credential('sealed otp')).json.code).toBe('DELIVERY_NOT_ALLOWED');
  });

  it('is not minted for a ticket that the record denies', async () => {
    await stored('proxied', { ...aws(), delivery: 'proxy-only' });
    const before = fixture.sts.requests.length;
    expect((await fixture.webhook.credential('proxied')).json.code).toBe('DELIVERY_NOT_ALLOWED');
    expect(fixture.sts.requests.length).toBe(before);
  });
});

describe('a credential that is made on demand', () => {
  it('is injected by a proxy: a code, and a token that is minted for the proxy', async () => {
    const allowed = {
      allowedHosts: [new URL(fixture.provider.url).origin],
      allowedHeaders: ['x-otp', 'authorization'],
    };
    let tokens = 0;
    answers.provider = ({ url }) =>
      url === '/token'
        ? { body: JSON.stringify({ access_token: `ya29.of-the-proxy-${++tokens}`, expires_in: 3600 }) }
        : { body: '{}', headers: { 'content-type': 'application/json' } };
    await stored('injected code', { tokenType: 'TOTP', secret: SEED, ...allowed, allowShortSecret: true });
    await stored('injected token', { ...gcp(), ...allowed });
    const upstreamUrl = `${fixture.provider.url}/mcp`;
    const code = { proxyId: 'prx_BBBBBBBBBBBBBBBBBBBBBB', serviceName: 'injected code' };
    await putProxy(fixture.webhook, upstreamUrl, { ...code, headerTemplates: { 'x-otp': 'code=$<TOKEN>' } });
    expect((await callProxy(fixture.webhook, { ...code, body: '{}' })).status).toBe(200);
    const { accessToken } = await delivered('injected code');
    expect(fixture.provider.requests.at(-1)!.headers['x-otp']).toBe(`code=${accessToken}`);

    const token = { proxyId: 'prx_CCCCCCCCCCCCCCCCCCCCCC', serviceName: 'injected token' };
    await putProxy(fixture.webhook, upstreamUrl, token);
    for (let call = 0; call < 2; call++)
      expect((await callProxy(fixture.webhook, { ...token, body: '{}' })).status).toBe(200);
    expect(fixture.provider.requests.at(-1)!.headers['authorization']).toBe('Bearer ya29.of-the-proxy-1');
    expect((await delivered('injected token')).accessToken).toBe('ya29.of-the-proxy-2');

    answers.provider = () => ({ status: 400, body: '{"error":"invalid_grant"}' });
    fixture.webhook.clock.advance(3_600_000);
    const before = fixture.provider.requests.length;
    const refused = await callProxy(fixture.webhook, { ...token, body: '{}' });
    expect(refused).toMatchObject({ status: 422, json: FAILED });
    // The provider was asked, the upstream was not.
    expect(fixture.provider.requests.slice(before).map(({ url }) => url)).toEqual(['/token']);
  });

  it('is not injected by a proxy if it has less than 80 bits and the owner did not permit that', async () => {
    answers.provider = () => ({ body: JSON.stringify({ access_token: 'ya29.short', expires_in: 3600 }) });
    const proxyId = 'prx_DDDDDDDDDDDDDDDDDDDDDD';
    const allowedHosts = [new URL(fixture.provider.url).origin];
    for (const [more, status, requested] of [
      [{}, 422, ['/token']],
      [{ allowShortSecret: true }, 200, ['/token', '/mcp']],
    ] as const) {
      await stored('short token', { ...gcp(), allowedHosts, ...more });
      await putProxy(fixture.webhook, `${fixture.provider.url}/mcp`, { proxyId, serviceName: 'short token' });
      const before = fixture.provider.requests.length;
      const answer = await callProxy(fixture.webhook, { proxyId, serviceName: 'short token', body: '{}' });
      expect([answer.status, fixture.provider.requests.slice(before).map(({ url }) => url)]).toEqual([
        status,
        requested,
      ]);
      if (status === 422) {
        expect(answer.json.code).toBe('NOT_INJECTABLE');
        expect(answer.json.error).toContain('allowShortSecret: true');
      }
    }
  });
});

it('leaves no seed, no key and no minted credential in the log, the database or a list', () =>
  expectNoLeaks(['kept', 'asked', 'injected token']));
