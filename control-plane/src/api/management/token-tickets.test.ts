import type { Id } from '@svault/shared';
import { expect, it } from 'vitest';
import type { Actor, Role } from '../../core/actor.ts';
import type { Stores } from '../../core/stores.ts';
import { createTokenTicketRoutes } from './token-tickets.ts';

/** Asks for a store ticket as a member of that role. @returns the version that the ticket may replace */
async function replacedBy(role: Role, ifv?: number): Promise<number | undefined> {
  let replaces: number | undefined;
  const routes = createTokenTicketRoutes({
    storeTickets: {
      issue: async (_stores, _actor, _serviceName, version) => {
        replaces = version;
        return {
          url: 'https://vault.example.org/v1/store',
          ticket: 't',
          expiresAt: '2026-11-20T12:00:00.000Z',
        };
      },
    },
    tickets: { ownerCredentialUrl: () => ({ url: '', expiresAt: '' }) },
  });
  const route = routes.find(({ operation }) => operation === 'createStoreTicket');
  if (route === undefined || route.role === 'public') throw new Error('there is no such route');
  const actor: Actor = {
    vaultId: 'vlt_1' as Id<'vlt'>,
    userId: 'usr_1' as Id<'usr'>,
    role,
    via: 'session',
    credentialId: 'ses_1' as Id<'ses'>,
  };
  const stores = { tokens: { get: async () => ({ serviceName: 'github' }) } } as unknown as Stores;
  await route.handle({
    actor,
    params: { serviceName: 'github' },
    query: undefined,
    body: { ifv },
    exchange: { header: () => undefined, setHeader: () => undefined, address: undefined },
    transaction: (work) => work({ ...stores, actor }),
  });
  return replaces;
}

it('an admin may replace a secret, and a member may only fill a token without one', async () => {
  expect(await replacedBy('admin')).toBeUndefined();
  expect(await replacedBy('member')).toBe(0);
});

it('an admin may name any version, and a member only 0', async () => {
  expect(await replacedBy('admin', 3)).toBe(3);
  expect(await replacedBy('admin', 0)).toBe(0);
  expect(await replacedBy('member', 0)).toBe(0);
  await expect(replacedBy('member', 1)).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

it('only an admin may fetch a credential', () => {
  const routes = createTokenTicketRoutes({
    storeTickets: { issue: () => Promise.reject(new Error('not asked')) },
    tickets: { ownerCredentialUrl: () => ({ url: '', expiresAt: '' }) },
  });
  expect(routes.find(({ operation }) => operation === 'createCredentialTicket')?.role).toBe('admin');
});
