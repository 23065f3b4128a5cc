import { type Id, ManualClock, formatTime, newId, randomToken } from '@svault/shared';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensureOwner } from '../../src/sign-in/bootstrap.ts';
import { addSession } from '../../src/sign-in/sessions.ts';
import type { User } from '../../src/core/user.ts';
import { createAgent } from '../../src/management/agents.ts';
import type { AccessToken, OauthCode, OauthSession } from '../../src/core/oauth-session.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';

const clock = new ManualClock();
let database: Database;
let owner: User;
let agentId: Id<'agt'>;
useStore((opened) => (database = opened), clock);
beforeAll(async () => {
  const { stores, masterKeys } = database;
  const settings = { email: `${newId('usr')}@example.org`, adminKey: undefined };
  ({ owner } = await ensureOwner(stores, settings, clock));
  const { id: userId, vaultId, role } = owner;
  const actor = { userId, vaultId, role, via: 'session', credentialId: newId('ses') } as const;
  ({ id: agentId } = (await createAgent({ ...stores, actor }, { name: 'a' }, { clock, masterKeys })).agent);
});

const hash = (): string => randomToken(32);
const at = (ms: number): string => formatTime(clock.now() + ms);

describe('oauthCodes', () => {
  const codes = () => database.stores.oauthCodes;
  const newCode = (): OauthCode => ({
    codeHash: hash(),
    vaultId: owner.vaultId,
    userId: owner.id,
    agentId,
    clientId: 'https://client.example/metadata.json',
    clientName: 'naïve "client" 名',
    redirectUri: 'http://127.0.0.1:1/callback?x=%20y',
    codeChallenge: 'c'.repeat(43),
    audience: 'https://service.example/api/agents/mcp',
    expiresAt: at(60_000),
  });

  test('take returns a code once, for any number of concurrent calls', async () => {
    const code = newCode();
    await codes().add(code);
    expect(await codes().find(code.codeHash)).toEqual(code);
    const taken = await Promise.all(Array.from({ length: 10 }, () => codes().take(code.codeHash)));
    expect(taken.filter((one) => one !== undefined)).toEqual([code]);
    expect(await codes().find(code.codeHash)).toBeUndefined();
  });

  test('deletes the codes of a user, and expired ones', async () => {
    const [late, timely] = [{ ...newCode(), expiresAt: at(0) }, newCode()];
    await codes().add(late);
    await codes().add(timely);
    await codes().removeExpired(at(0));
    expect([await codes().find(late.codeHash), await codes().find(timely.codeHash)]).toEqual([
      undefined,
      timely,
    ]);
    await codes().removeOfUser(newId('usr'));
    expect(await codes().find(timely.codeHash)).toEqual(timely);
    await codes().removeOfUser(owner.id);
    expect(await codes().find(timely.codeHash)).toBeUndefined();
  });
});

describe('oauthSessions', () => {
  const sessions = () => database.stores.oauthSessions;
  const newAccess = (): AccessToken => ({ tokenHash: hash(), issuedAt: at(0), expiresAt: at(60_000) });

  async function opened(refreshHash: string | undefined = hash()) {
    const [familyHash, codeHash, access] = [hash(), hash(), newAccess()];
    const [opening, clientId] = [{ kind: 'oauth', method: 'oauth', client: 'c' } as const, newId('ocl')];
    const opened = { ...opening, tokenHash: familyHash, agentId, clientId };
    const session = await addSession(database.stores, owner, opened, clock);
    const facts = { agentId, clientId, audience: 'https://service.example/mcp' };
    await sessions().add({ sessionId: session.id, ...facts, codeHash, refreshHash }, access);
    const kept: OauthSession = { session, ...facts, refreshHash, previous: undefined };
    return { familyHash, codeHash, access, kept };
  }

  test('finds a session by its token family and by its code', async () => {
    const { familyHash, codeHash, kept } = await opened();
    expect(await sessions().find(familyHash)).toEqual(kept);
    expect(await sessions().findByCode(codeHash)).toEqual(kept);
    expect([await sessions().find(codeHash), await sessions().findByCode(familyHash)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('rejects a second session with the same code', async () => {
    const { codeHash } = await opened();
    const opening = { kind: 'oauth', method: 'oauth', client: 'c', tokenHash: hash(), agentId } as const;
    const { id } = await addSession(database.stores, owner, opening, clock);
    const facts = { agentId, clientId: 'c', audience: 'a', refreshHash: hash() };
    await expect(
      database.unitOfWork.run(owner.vaultId, ({ oauthSessions }) =>
        oauthSessions.add({ sessionId: id, ...facts, codeHash }, newAccess()),
      ),
    ).rejects.toThrow();
  });

  test('rotate replaces the refresh token and keeps both access tokens', async () => {
    const { familyHash, access, kept } = await opened();
    const next = { refreshHash: hash(), access: newAccess() };
    const previous = { refreshHash: kept.refreshHash ?? '', rotatedAt: at(0), wrappedSeed: 'w' };
    await sessions().rotate(kept.session.id, next, previous);
    expect(await sessions().find(familyHash)).toEqual({ ...kept, refreshHash: next.refreshHash, previous });
    for (const { tokenHash, issuedAt, expiresAt } of [access, next.access])
      expect(await sessions().introspect(tokenHash)).toEqual({
        agentId,
        agentStatus: 'active',
        clientId: kept.clientId,
        audience: kept.audience,
        issuedAt,
        expiresAt,
      });
  });

  test('deletes expired access tokens and keeps their session', async () => {
    const { familyHash, access, kept } = await opened();
    await sessions().evictExpiredAccess(at(59_999));
    expect(await sessions().introspect(access.tokenHash)).toBeDefined();
    await sessions().evictExpiredAccess(access.expiresAt);
    expect([await sessions().introspect(access.tokenHash), await sessions().find(familyHash)]).toEqual([
      undefined,
      kept,
    ]);
  });

  test('has no row of a session that has ended, in each way that it may end', async () => {
    const endings = [
      ({ session }: OauthSession) => database.stores.sessions.remove(owner.vaultId, session.id, undefined),
      () => database.stores.sessions.removeOfUser(owner.id, { kinds: ['oauth'], but: undefined }),
      () => database.stores.sessions.removeIdle('oauth', at(0)),
      ({ session }: OauthSession) => database.stores.sessions.removeExpired(session.expiresAt),
    ];
    for (const end of endings) {
      const { familyHash, codeHash, access, kept } = await opened();
      await end(kept);
      expect([
        await sessions().find(familyHash),
        await sessions().findByCode(codeHash),
        await sessions().introspect(access.tokenHash),
      ]).toEqual([undefined, undefined, undefined]);
    }
  });

  test('lists a session with its agent among the sessions of the account, and ends no other kind with it', async () => {
    const { kept } = await opened();
    const tokenHash = hash();
    const opening = { kind: 'console', method: 'link', client: 'b', tokenHash } as const;
    const browser = await addSession(database.stores, owner, opening, clock);
    const { sessions: all } = database.stores;
    expect(await all.get(owner.vaultId, kept.session.id)).toEqual(kept.session);
    expect(await all.ofUser(owner.id, 'oauth')).toContainEqual(kept.session);
    const { items } = await all.list(owner.vaultId, { userId: owner.id }, { limit: 100, after: undefined });
    const { email } = owner;
    expect(items).toEqual(
      expect.arrayContaining([
        { ...kept.session, email, agentName: 'a' },
        { ...browser, email, agentName: undefined },
      ]),
    );
    await all.removeIdle('oauth', at(0));
    await all.removeOfUser(owner.id, { kinds: ['oauth'], but: undefined });
    expect([await all.get(owner.vaultId, browser.id), await all.ofUser(owner.id, 'oauth')]).toEqual([
      browser,
      [],
    ]);
  });
});
