import { beforeAll, describe, expect, test } from 'vitest';
import { useService } from '../support/use-service.ts';

const service = useService();
let agentId: string;
beforeAll(async () => {
  agentId = (await service.admin('POST', '/api/agents', { body: { name: 'builder' } })).json.agent.id;
});

/** Everything but these is denied while the vault is locked. */
const ANSWER_WHEN_LOCKED = [
  'POST /api/vault/lock',
  'POST /api/vault/unlock',
  'POST /api/login',
  'POST /api/login/link',
  'POST /api/cli/login/begin',
  'POST /api/cli/login/exchange',
  'POST /api/cli/login/refresh',
  'POST /api/logout',
  'DELETE /api/sessions/{id}',
  'POST /api/approvals/{id}/deny',
  // Change nothing of the account.
  'POST /api/attention/seen',
  'POST /api/policies/preview',
  'POST /api/policies/simulate',
  'POST /api/reach/matrix',
];

const withLock = async (work: () => Promise<void>): Promise<void> => {
  await service.admin('POST', '/api/vault/lock');
  try {
    await work();
  } finally {
    await service.admin('POST', '/api/vault/unlock');
  }
};

describe('specification, states: Vault', () => {
  test('unlocked → lock → locked → unlock → unlocked; a repeat changes nothing', async () => {
    expect((await service.admin('GET', '/api/vault')).json).toMatchObject({ locked: false, lockedAt: null });
    const locked = await service.admin('POST', '/api/vault/lock');
    expect(locked.json).toMatchObject({ locked: true, lockedAt: '2026-11-20T12:00:00.000Z' });
    service.clock.advance(1_000);
    expect((await service.admin('POST', '/api/vault/lock')).json).toEqual(locked.json);
    expect((await service.admin('GET', '/api/vault')).json).toEqual(locked.json);
    for (const _ of [1, 2])
      expect((await service.admin('POST', '/api/vault/unlock')).json).toMatchObject({ locked: false });
  });

  // spec: Vault | unlocked | lock | none | locked | Mutating operations are blocked.
  test('locked: every mutating operation answers 423, but for those that the contract names', async () => {
    const { paths } = (await service.anyone('GET', '/api/openapi.json')).json;
    const changes = Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'get')
        .map((method) => ({ method: method.toUpperCase(), path })),
    );
    expect(changes.length).toBeGreaterThan(15);
    await withLock(async () => {
      for (const { method, path } of changes) {
        if (ANSWER_WHEN_LOCKED.includes(`${method} ${path}`)) continue;
        const answer = await service.admin(method, path.replaceAll(/\{\w+\}/g, 'x'));
        expect([method, path, answer.status, answer.json.code]).toEqual([method, path, 423, 'VAULT_LOCKED']);
      }
    });
  });

  test('locked: reading goes on', async () => {
    await withLock(async () => {
      for (const path of [
        '/api/agents',
        `/api/agents/${agentId}`,
        `/api/agents/${agentId}/grants`,
        '/api/tokens',
      ])
        expect([path, (await service.admin('GET', path)).status]).toEqual([path, 200]);
    });
  });

  test('a change whose body is still on its way when the lock is answered is refused', async () => {
    let finish: () => void = () => undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('{"name":'));
        finish = () => {
          controller.enqueue(new TextEncoder().encode('"late"}'));
          controller.close();
        };
      },
    });
    const late = fetch(`${service.running.url}/api/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.place.adminKey}`, 'content-type': 'application/json' },
      body,
      // A streamed body is sent while the answer is not yet there.
      duplex: 'half',
    });
    await withLock(async () => {
      finish();
      expect((await late).status).toBe(423);
    });
  });
});
