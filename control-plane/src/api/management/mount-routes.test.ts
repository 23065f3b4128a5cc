import { createOriginReader } from '../http/request-origin.ts';
import express from 'express';
import supertest from 'supertest';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { errorHandler } from '@svault/server-kit/error-handler';
import { silentLogger } from '@svault/server-kit/logger';
import { newId } from '@svault/shared';
import type { Actor, Role } from '../../core/actor.ts';
import { ApiError } from '../../core/errors.ts';
import type { Stores } from '../../core/stores.ts';
import { ERROR_STATUS } from '../http/errors.ts';
import { createLimits } from '../../limits/limits.ts';
import type { LimiterVerdict } from '../../limits/limiter.ts';
import { createClientAddress } from '../http/client-address.ts';
import { mountRoutes } from './mount-routes.ts';
import { definePublicRoute, defineRoute } from './route-definition.ts';
import { createRouteLimits } from '../http/route-limits.ts';

const shared = { operation: 'test', tag: 'Test', summary: 'Test' } as const;
const vaultId = newId('vlt');

/** What the service looks like to the next request. */
let state: {
  role: Role | undefined;
  /** In the transaction of a change; undefined: nobody any more. */
  roleInside: Role | undefined;
  lockedAt: string | undefined;
  lockedInside: string | undefined;
};
/** What was counted, and what the limiter says to it. */
let counted: string[];
let verdict: LimiterVerdict;
beforeEach(() => {
  state = { role: 'admin', roleInside: 'admin', lockedAt: undefined, lockedInside: undefined };
  counted = [];
  verdict = { allowed: true };
});

const asMember = { ...shared, role: 'member' } as const;
const id = { params: z.object({ id: z.string() }) };
const named = { body: z.strictObject({ name: z.string() }) };
const handle = (): Promise<void> => Promise.resolve();

const routes = [
  defineRoute('POST /api/things/{id}', {
    ...shared,
    ...id,
    ...named,
    role: 'admin',
    query: z.strictObject({ dry: z.enum(['yes']).optional() }),
    response: { status: 200, schema: z.object({ id: z.string(), name: z.string() }) },
    change: (_inside, { params, body }) => Promise.resolve({ ...params, ...body, keyHash: 'kept in' }),
  }),
  defineRoute('DELETE /api/things/{id}', { ...asMember, ...id, whenLocked: 'allowed', handle }),
  defineRoute('POST /api/export', { ...asMember, ...named, limit: 'account_export', handle }),
  defineRoute('POST /api/things/{id}/reveal', {
    ...asMember,
    ...id,
    limit: {
      scope: 'key_reveal',
      target: ({ params }) =>
        params.id === 'there'
          ? Promise.resolve('agt_there')
          : Promise.reject(new ApiError('NOT_FOUND', 'no')),
    },
    handle,
  }),
  defineRoute('POST /api/guess', { ...asMember, ...named, limit: 'password_login', handle }),
  definePublicRoute('POST /api/sign-in', { ...shared, ...named, limit: 'password_login', handle }),
  definePublicRoute('GET /api/open', {
    ...shared,
    response: { status: 200, schema: z.object({ ok: z.boolean() }) },
    handle: () => Promise.resolve({ ok: true }),
  }),
];

function storesOf(lockedAt: string | undefined): Stores {
  const vault = { id: vaultId, createdAt: '', lockedAt };
  const roleOf = () => Promise.resolve(state.roleInside);
  // What is looked at by what is tested here.
  return { vaults: { get: () => Promise.resolve(vault) }, adminKeys: { roleOf } } as unknown as Stores;
}

const app = express()
  .use((req, res, next) => {
    const stores = storesOf(state.lockedAt);
    const { role } = state;
    const actor = {
      vaultId,
      userId: newId('usr'),
      role,
      via: 'adminKey',
      credentialId: newId('adk'),
    } as Actor;
    const authenticate = (): Promise<Actor> =>
      role === undefined ? Promise.reject(new ApiError('UNAUTHENTICATED', 'who?')) : Promise.resolve(actor);
    return mountRoutes(routes, {
      stores,
      unitOfWork: {
        run: (_vaultId, work) => work(storesOf(state.lockedInside)),
        runAcross: (work) => work(storesOf(state.lockedInside)),
      },
      ownOrigin: 'https://svault.example',
      clientAddress: createClientAddress([]),
      originOf: createOriginReader(createClientAddress([])),
      limits: createRouteLimits({
        limits: createLimits({}),
        clientAddress: createClientAddress([]),
        limiter: {
          take: ({ scope, key }, account) => {
            counted.push(`${scope} ${key === vaultId ? 'account' : key} ${account === vaultId}`);
            return verdict;
          },
        },
      }),
      authenticate,
      authenticateAgain: authenticate,
    })(req, res, next);
  })
  .use(
    errorHandler({
      statusOf: ERROR_STATUS,
      storageFailure: 'UNAVAILABLE',
      internal: 'INTERNAL',
      logger: silentLogger,
    }),
  );

const post = () => supertest(app).post('/api/things/x');
const codeOf = ({ body }: supertest.Response): unknown => (body as { code?: unknown }).code;

describe('the order of errors', () => {
  const broken = () => post().set('content-type', 'text/plain').send('{"nam');

  test('405 comes first, with the methods of the path', async () => {
    state.role = undefined;
    const response = await supertest(app).put('/api/things/x');
    expect([response.status, response.headers['allow']]).toEqual([405, 'POST, DELETE']);
  });

  test('401, 403, 415, 400, 423, 422 precede the handler, and 401, 403, 423 are checked again in the transaction', async () => {
    state = { role: undefined, roleInside: undefined, lockedAt: 'now', lockedInside: 'now' };
    expect(codeOf(await broken())).toBe('UNAUTHENTICATED');
    state.role = 'member';
    expect(codeOf(await broken())).toBe('FORBIDDEN');
    state.role = 'admin';
    expect(codeOf(await broken())).toBe('UNSUPPORTED_MEDIA_TYPE');
    expect(codeOf(await post().set('content-type', 'application/json').send('{"nam'))).toBe(
      'INVALID_REQUEST',
    );
    expect(codeOf(await post().send({ nam: 1 }))).toBe('VAULT_LOCKED');
    state.lockedAt = undefined;
    expect(codeOf(await post().send({ nam: 1 }))).toBe('INVALID_ARGUMENT');
    expect(codeOf(await post().query({ dry: 'no' }).send({ name: 'a' }))).toBe('INVALID_ARGUMENT');
    const late = await post().send({ name: 'a' });
    expect([codeOf(late), late.headers['www-authenticate']]).toEqual([
      'UNAUTHENTICATED',
      'Bearer realm="svault"',
    ]);
    state.roleInside = 'member';
    expect(codeOf(await post().send({ name: 'a' }))).toBe('FORBIDDEN');
    state.roleInside = 'admin';
    expect(codeOf(await post().send({ name: 'a' }))).toBe('VAULT_LOCKED');
    state.lockedInside = undefined;
    expect((await post().send({ name: 'a' })).status).toBe(200);
  });
});

test('a response has only the members of its schema', async () => {
  expect((await post().send({ name: 'a' })).body).toEqual({ id: 'x', name: 'a' });
});

test('a route that is allowed while the vault is locked responds', async () => {
  state = { role: 'member', roleInside: 'member', lockedAt: 'now', lockedInside: 'now' };
  const response = await supertest(app).delete('/api/things/x');
  expect([response.status, response.text]).toEqual([204, '']);
});

test('a public route needs no credentials, and rejects pages of other sites', async () => {
  state.role = undefined;
  expect((await supertest(app).get('/api/open')).body).toEqual({ ok: true });
  const own = await supertest(app).get('/api/open').set('origin', 'https://svault.example');
  expect(own.status).toBe(200);
  const foreign = await supertest(app).get('/api/open').set('origin', 'https://evil.example');
  expect([foreign.status, codeOf(foreign)]).toEqual([403, 'FORBIDDEN']);
});

describe('the limit of a route', () => {
  const full = { allowed: false, scope: 'account_export', retryAfterSeconds: 7 } as const;
  const send = (path: string, body: object) => supertest(app).post(path).send(body);

  test('a malformed request is not counted against an account', async () => {
    state.lockedAt = 'now';
    expect(codeOf(await send('/api/export', { name: 'a' }))).toBe('VAULT_LOCKED');
    state.lockedAt = undefined;
    expect(codeOf(await send('/api/export', {}))).toBe('INVALID_ARGUMENT');
    expect(counted).toEqual([]);
    expect((await send('/api/export', { name: 'a' })).status).toBe(204);
    expect(counted).toEqual(['account_export account true']);
  });

  test('an exceeded limit is 429 with the seconds in the body and in Retry-After', async () => {
    verdict = full;
    const response = await send('/api/export', { name: 'a' });
    expect([response.status, response.headers['retry-after']]).toEqual([429, '7']);
    const requestId = response.headers['x-request-id'];
    const body = { error: expect.any(String), code: 'RATE_LIMITED', retryAfter: 7, requestId };
    expect(response.body).toEqual(body);
  });

  test('a target is counted where the account has it, and an unknown one is not', async () => {
    expect(codeOf(await send('/api/things/elsewhere/reveal', {}))).toBe('NOT_FOUND');
    expect(counted).toEqual([]);
    expect((await send('/api/things/there/reveal', {})).status).toBe(204);
    expect(counted).toEqual(['key_reveal agt_there true']);
  });

  test('a limit per address also counts authenticated requests', async () => {
    expect((await send('/api/guess', { name: 'a' })).status).toBe(204);
    expect(counted).toEqual(['password_login 127.0.0.1 false']);
  });

  test('an address is counted before the body is read, and a request of another site is not', async () => {
    const foreign = await send('/api/sign-in', { name: 'a' }).set('origin', 'https://evil.example');
    expect([codeOf(foreign), counted]).toEqual(['FORBIDDEN', []]);
    verdict = full;
    expect((await send('/api/sign-in', {})).status).toBe(429);
    expect(counted).toEqual(['password_login 127.0.0.1 false']);
  });
});
