import { createOriginReader } from '../../src/api/http/request-origin.ts';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { ManualClock, newId, sha256, toBase64url, utf8 } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureOwner } from '../../src/sign-in/bootstrap.ts';
import { signInBrowser } from '../../src/sign-in/sessions.ts';
import type { User } from '../../src/core/user.ts';
import { beginCliLogin } from '../../src/sign-in/cli/login.ts';
import { createCliPage } from '../../src/api/pages/cli-page.ts';
import { createPageSession } from '../../src/api/pages/page-session.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from '../store/open-store.ts';

/*
 * A stolen session may be ended, by a new password, between its authentication and its approval of a command line. The
 * approval must fail, since the command line's session would outlive it.
 */

const OWN = 'http://127.0.0.1:8080';
const REDIRECT = 'http://127.0.0.1:49152/';

const clock = new ManualClock();
let database: Database;
let owner: User;
/** Runs right before the next transaction of a page. */
let before: () => Promise<void>;
const server = createServer();
useStore((opened) => (database = opened), clock);
beforeAll(async () => {
  const { stores, unitOfWork } = database;
  const settings = { email: `${newId('usr')}@example.org`, adminKey: undefined };
  ({ owner } = await ensureOwner(stores, settings, clock));
  const pageSession = createPageSession({
    stores,
    clock,
    originOf: createOriginReader(() => '192.0.2.1'),
    unitOfWork: {
      ...unitOfWork,
      run: async (vaultId, work) => {
        await before();
        return unitOfWork.run(vaultId, work);
      },
    },
    cookieName: 'svault',
    ownOrigin: OWN,
  });
  const app = express();
  app.locals['identity'] = { program: 'control plane', url: OWN };
  server.on('request', app.use(createCliPage({ baseUrl: OWN, stores, clock, pageSession, https: false })));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  server.close();
});

async function allow(): Promise<Response> {
  const { stores } = database;
  const { sessionToken } = await signInBrowser(stores, owner, { method: 'link', client: 'test' }, clock);
  const { requestId } = await beginCliLogin(
    stores,
    {
      codeChallenge: toBase64url(sha256(utf8('v'.repeat(43)))),
      redirectUri: REDIRECT,
      client: 'test',
      address: undefined,
    },
    { baseUrl: OWN, clock },
  );
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/login/cli`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: `svault=${sessionToken}`, origin: OWN },
    body: new URLSearchParams({ request: requestId, decision: 'allow' }),
  });
}

test('a live session approves a CLI login', async () => {
  before = () => Promise.resolve();
  expect((await allow()).headers.get('location')).toContain(`${REDIRECT}?code=`);
});

test('a session that ended in between approves no CLI login', async () => {
  before = () => database.stores.sessions.removeOfUser(owner.id, { kinds: ['console'], but: undefined });
  const answer = await allow();
  expect([answer.status, answer.headers.get('location')]).toEqual([401, null]);
});
