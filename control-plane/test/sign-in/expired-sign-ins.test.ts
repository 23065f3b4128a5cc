import { ManualClock, hashKey, newId, sha256, toBase64url, utf8 } from '@svault/shared';
import { expect, it } from 'vitest';
import { ensureOwner } from '../../src/sign-in/bootstrap.ts';
import { evictExpiredSignIns } from '../../src/sign-in/expired-sign-ins.ts';
import { makeLoginLink, userOfLoginLink } from '../../src/sign-in/login-link.ts';
import { resolveSession, signInBrowser } from '../../src/sign-in/sessions.ts';
import {
  approveCliLogin,
  beginCliLogin,
  exchangeCliCode,
  pendingCliLogin,
} from '../../src/sign-in/cli/login.ts';
import { openCliSession, resolveCliSession } from '../../src/sign-in/cli/sessions.ts';
import { createAgent } from '../../src/management/agents.ts';
import { introspectToken } from '../../src/authorization-server/token-status.ts';
import { issueCode } from '../../src/management/approve-oauth-client.ts';
import { type IssuedTokens, openOauthSession } from '../../src/authorization-server/oauth-session.ts';
import { refreshOauthSession } from '../../src/authorization-server/refresh-token-grant.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from '../store/open-store.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const clock = new ManualClock();
let database: Database;
useStore((opened) => (database = opened), clock);

it('evicts expired sessions and sign-in links, so that a clock set back revives none', async () => {
  const { stores } = database;
  const input = {
    email: `${newId('usr')}@example.org`,
    adminKey: undefined,
    placeholderEmail: 'none@example.org',
  };
  const { owner } = await ensureOwner(stores, input, clock);
  const link = await makeLoginLink(stores, owner, { baseUrl: 'http://127.0.0.1', clock });
  const linkToken = new URL(link.url).searchParams.get('token')!;
  const browser = (client: string) => signInBrowser(stores, owner, { method: 'link', client }, clock);
  const ended = await browser('left alone');

  clock.advance(5 * HOUR_MS);
  const going = await browser('in use');
  clock.advance(4 * HOUR_MS);
  await evictExpiredSignIns(stores, clock);

  clock.jump(-8 * HOUR_MS);
  expect(await resolveSession(stores, ended.sessionToken, clock)).toBeUndefined();
  expect(await userOfLoginLink(stores, linkToken, clock)).toBeUndefined();
  clock.jump(8 * HOUR_MS);
  expect(await resolveSession(stores, going.sessionToken, clock)).toMatchObject({ userId: owner.id });
});

it('evicts an expired access token of the command line, while its session stays valid', async () => {
  const { stores } = database;
  const input = { email: `${newId('usr')}@example.org`, adminKey: undefined };
  const { owner } = await ensureOwner(stores, input, clock);
  const { accessToken } = await openCliSession(stores, owner, 'cli', clock);
  expect(await resolveCliSession(stores, accessToken, clock)).toMatchObject({ userId: owner.id });

  clock.advance(15 * MINUTE_MS);
  await evictExpiredSignIns(stores, clock);
  clock.jump(-MINUTE_MS);
  expect(await resolveCliSession(stores, accessToken, clock)).toBeUndefined();
  clock.jump(MINUTE_MS);
});

it('keeps CLI logins that wait for approval, and approved ones that wait for their client', async () => {
  const { stores } = database;
  const { owner } = await ensureOwner(
    stores,
    { email: `${newId('usr')}@example.org`, adminKey: undefined },
    clock,
  );
  const codeVerifier = 'v'.repeat(43);
  const codeChallenge = toBase64url(sha256(utf8(codeVerifier)));
  const begin = async () => {
    clock.advance(1);
    const request = { codeChallenge, redirectUri: undefined, client: 'cli', address: undefined };
    return (await beginCliLogin(stores, request, { baseUrl: 'http://127.0.0.1', clock })).requestId;
  };
  const code = await approveCliLogin(
    stores,
    { userId: owner.id, vaultId: owner.vaultId },
    await begin(),
    clock,
  );
  const begun = [await begin(), await begin()];
  await evictExpiredSignIns(stores, clock);

  const waiting = await Promise.all(begun.map((id) => pendingCliLogin(stores, id, clock)));
  expect(waiting.map((login) => login !== undefined)).toEqual([true, true]);
  const input = { code: code ?? '', codeVerifier, requestId: undefined };
  expect(await exchangeCliCode(stores, input, clock)).toMatchObject({ user: { id: owner.id } });
});

it('evicts idle sessions of MCP clients after 30 days and of users after 8 hours, and expired codes and access tokens at once', async () => {
  const { stores, masterKeys } = database;
  const settings = { email: `${newId('usr')}@example.org`, adminKey: undefined };
  const { owner } = await ensureOwner(stores, settings, clock);
  const { id: userId, vaultId, role } = owner;
  const actor = { userId, vaultId, role, via: 'session', credentialId: newId('ses') } as const;
  const input = { name: 'a', mcpEnabled: true };
  const { agent } = await createAgent({ ...stores, actor }, input, { clock, masterKeys });
  const about = { agentId: agent.id, clientId: newId('ocl'), clientName: 'c', audience: 'a' };
  const open = () => openOauthSession(stores, owner, { ...about, codeHash: undefined }, clock);
  const approval = { ...about, switchMcpOn: false, redirectUri: 'http://127.0.0.1/', codeChallenge: 'c' };
  const issued = await issueCode({ ...stores, actor }, approval, clock);
  const codeHash = hashKey('code' in issued ? issued.code : '');
  const session = await open();
  const refresh = ({ refreshToken }: IssuedTokens) =>
    refreshOauthSession(
      stores,
      { refreshToken, clientId: about.clientId, resource: undefined },
      { clock, masterKeys },
    );
  expect(await stores.oauthCodes.find(codeHash)).toBeDefined();

  clock.advance(61 * MINUTE_MS);
  await evictExpiredSignIns(stores, clock);
  clock.jump(-61 * MINUTE_MS);
  expect(await stores.oauthCodes.find(codeHash)).toBeUndefined();
  expect(await introspectToken(stores, session.accessToken, clock)).toBeUndefined();
  clock.jump(61 * MINUTE_MS);

  const browser = await signInBrowser(stores, owner, { method: 'link', client: 'left alone' }, clock);
  clock.advance(29 * 24 * HOUR_MS);
  await evictExpiredSignIns(stores, clock);
  const next = await refresh(session);
  expect(next).toMatchObject({ expiresInSeconds: 3_600 });
  clock.jump(-29 * 24 * HOUR_MS);
  expect(await resolveSession(stores, browser.sessionToken, clock)).toBeUndefined();
  clock.jump(59 * 24 * HOUR_MS);
  await evictExpiredSignIns(stores, clock);
  clock.jump(-HOUR_MS);
  expect(await refresh(next as IssuedTokens)).toMatchObject({ error: 'invalid_grant' });
  clock.jump(HOUR_MS);
});
