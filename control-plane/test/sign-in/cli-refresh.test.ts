import { hashKey } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import { cliTokens } from '../../src/sign-in/cli/sessions.ts';
import { type CliGrant, bearer, cliSession, refresh } from '../support/cli-client.ts';
import { clientOf } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const service = useService({
  SV_LIMIT_CLI_LOGIN_BEGIN: '1000',
  SV_LIMIT_CLI_LOGIN_EXCHANGE: '1000',
  SV_LIMIT_CLI_LOGIN_REFRESH: '10000',
});

const grantOf = async (refreshToken: string): Promise<CliGrant> => {
  const { status, json, text } = await refresh(service, refreshToken);
  if (status !== 200) throw new Error(`not refreshed: ${text}`);
  return json as CliGrant;
};
const works = async (accessToken: string) =>
  (await bearer(service, accessToken)('GET', '/api/me')).status === 200;

describe('a refresh', () => {
  test('a refresh returns a new pair, and the previous access token stays valid until it expires', async () => {
    const first = await cliSession(service);
    service.clock.advance(10 * MINUTE_MS);
    const second = await grantOf(first.refreshToken);
    expect(second).toMatchObject({ expiresInSeconds: 900, user: { id: first.id } });
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect([await works(first.accessToken), await works(second.accessToken)]).toEqual([true, true]);
    service.clock.advance(5 * MINUTE_MS);
    expect([await works(first.accessToken), await works(second.accessToken)]).toEqual([false, true]);
    service.clock.advance(10 * MINUTE_MS);
    expect(await works(second.accessToken)).toBe(false);
    expect(await works((await grantOf(second.refreshToken)).accessToken)).toBe(true);
  });

  test('a session expires after 7 days, and after 8 idle hours', async () => {
    const busy = await cliSession(service);
    let { refreshToken } = busy;
    for (let hours = 0; hours < 7 * 24 - 6; hours += 6) {
      service.clock.advance(6 * HOUR_MS);
      ({ refreshToken } = await grantOf(refreshToken));
    }
    service.clock.advance(6 * HOUR_MS - 5 * MINUTE_MS);
    const last = await grantOf(refreshToken);
    expect(last.expiresInSeconds).toBe(300);
    service.clock.advance(5 * MINUTE_MS);
    expect([await works(last.accessToken), (await refresh(service, last.refreshToken)).status]).toEqual([
      false,
      401,
    ]);

    const idle = await cliSession(service);
    service.clock.advance(8 * HOUR_MS);
    expect((await refresh(service, idle.refreshToken)).status).toBe(401);
  });

  test('a refresh returns the present role, and a removed member gets nothing', async () => {
    const { refreshToken, id } = await cliSession(service, 'admin');
    await service.admin('PATCH', `/api/members/${id}`, { body: { role: 'member' } });
    const grant = await grantOf(refreshToken);
    expect(grant.user.role).toBe('member');
    expect((await bearer(service, grant.accessToken)('GET', '/api/members')).status).toBe(403);
    await service.admin('DELETE', `/api/members/${id}`);
    expect([await works(grant.accessToken), (await refresh(service, grant.refreshToken)).status]).toEqual([
      false,
      401,
    ]);
  });
});

describe('a rotated refresh token', () => {
  test('reuse of a refresh token ends the session, whichever holder presents it', async () => {
    const first = await cliSession(service);
    const second = await grantOf(first.refreshToken);
    service.clock.advance(11 * SECOND_MS);
    const stolen = await refresh(service, first.refreshToken);
    expect([stolen.status, stolen.json.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect((await refresh(service, second.refreshToken)).status).toBe(401);
    expect([await works(first.accessToken), await works(second.accessToken)]).toEqual([false, false]);
    const [event] = (await service.admin('GET', '/api/audit?eventType=SESSION_REVOKED&limit=1')).json.items;
    expect(event).toMatchObject({
      outcome: 'success',
      userId: first.id,
      detail: { memberId: first.id, reason: expect.stringContaining('refresh token was reused') },
    });
  });

  test('reuse of an older refresh token ends the session at once', async () => {
    const first = await cliSession(service);
    const third = await grantOf((await grantOf(first.refreshToken)).refreshToken);
    expect((await refresh(service, first.refreshToken)).status).toBe(401);
    expect([await works(third.accessToken), (await refresh(service, third.refreshToken)).status]).toEqual([
      false,
      401,
    ]);
  });

  test('a refresh within the grace period of 10 seconds gets the same pair again', async () => {
    const { refreshToken } = await cliSession(service);
    const answers = await Promise.all(Array.from({ length: 10 }, () => grantOf(refreshToken)));
    service.clock.advance(10 * SECOND_MS);
    answers.push(await grantOf(refreshToken));
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.accessToken)).size).toBe(1);
    expect(answers.at(-1)?.expiresInSeconds).toBe(890);
    expect(await works(answers[0]!.accessToken)).toBe(true);
    expect((await refresh(service, answers[0]!.refreshToken)).status).toBe(200);
  });

  test('a rotated token and the database together do not give the current pair', async () => {
    const { refreshToken: retired } = await cliSession(service);
    const live = await grantOf(retired);
    const [kept] = await service.place.state.rows(
      'SELECT * FROM cli_sessions WHERE former_refresh_hash = ?',
      hashKey(retired),
    );
    const texts = Object.values(kept ?? {}).filter((value) => typeof value === 'string');
    expect(texts.length).toBeGreaterThan(6);
    for (const text of texts) {
      const guess = cliTokens.rotate(retired, text);
      expect(guess.refreshToken).not.toBe(live.refreshToken);
      expect(guess.accessToken).not.toBe(live.accessToken);
    }
  });

  test('a clock set back gives a rotated token no grace period', async () => {
    const first = await cliSession(service);
    await grantOf(first.refreshToken);
    service.clock.jump(-MINUTE_MS);
    expect((await refresh(service, first.refreshToken)).status).toBe(401);
    service.clock.jump(MINUTE_MS);
  });
});

describe('an invalid token', () => {
  test('an invalid refresh token refreshes and ends nothing', async () => {
    const { accessToken, refreshToken } = await cliSession(service);
    for (const wrong of [
      'x',
      accessToken,
      `svclir_${'A'.repeat(43)}`,
      `${refreshToken}A`,
      refreshToken.slice(0, -1),
      refreshToken.toUpperCase(),
      service.place.adminKey,
    ])
      expect([wrong, (await refresh(service, wrong)).status]).toEqual([wrong, 401]);
    expect(await works(accessToken)).toBe(true);
    expect((await refresh(service, refreshToken)).status).toBe(200);
  });

  test('a refresh token as bearer or cookie and an access token as cookie authenticate nothing', async () => {
    const { accessToken, refreshToken } = await cliSession(service);
    const expected = await service.anyone('GET', '/api/me');
    for (const headers of [
      { authorization: `Bearer ${refreshToken}` },
      { cookie: `svault=${accessToken}` },
      { cookie: `svault=${accessToken.slice('svcli_'.length)}` },
      { cookie: `svault=${refreshToken}` },
      { authorization: `Bearer svcli_${'A'.repeat(43)}` },
      { authorization: `Bearer ${accessToken.slice(0, -4)}AAAA` },
      { authorization: `Bearer ${accessToken.replace('svcli_', 'svadmin_')}` },
    ]) {
      const answer = await clientOf(service.running.url, headers)('GET', '/api/me');
      expect([headers, answer.status, answer.text]).toEqual([headers, 401, expected.text]);
    }
    expect(await works(accessToken)).toBe(true);
  });

  test('a bearer token replaces the cookie and needs no Origin', async () => {
    const { accessToken, browser } = await cliSession(service);
    const cookie = `svault=${browser.cookies.get('svault')}`;
    const answer = await bearer(service, accessToken)('POST', '/api/agents', {
      body: { name: 'a' },
      headers: { cookie, origin: 'https://evil.example' },
    });
    expect(answer.status).toBe(201);
  });
});
