import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SettingsError } from '@svault/server-kit/settings';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { browserOn } from '../support/browser.ts';
import { settingsFor } from '../support/identity-provider.ts';
import { type ManagementService, makePlace, serveOn } from '../support/management-service.ts';

/** A provider with metadata only. */
let provider: Server;
let origin: string;
/** The issuer of its metadata; undefined to answer 503. */
let stated: string | undefined;

beforeEach(async () => {
  provider = createServer((_req, res) => {
    if (stated === undefined) return void res.writeHead(503).end();
    res.setHeader('content-type', 'application/json');
    res.end(
      JSON.stringify({
        issuer: stated,
        authorization_endpoint: `${origin}/auth`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/jwks`,
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
afterEach(async () => {
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
});

async function start(issuer: string): Promise<ManagementService> {
  const place = await makePlace(settingsFor({ issuer }));
  try {
    return await serveOn(place);
  } catch (error) {
    await place.remove();
    throw error;
  }
}

test('a start fails and shows both issuers where the provider’s issuer is another one', async () => {
  stated = `${origin}/`;
  const refused = await start(origin).then(
    (service) => service.stop(),
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(SettingsError);
  const { message } = refused as SettingsError;
  expect(message).toContain(`SV_OIDC_ISSUER is "${origin}"`);
  expect(message).toContain(`"${stated}"`);
});

test.each([
  ['is another one', '', '/'],
  ['has an escape in its path', '/realm', '/re%61lm'],
  // The library detects these, with its own error.
  ['has a path', '', '/other'],
  ['is its metadata', '/.well-known/openid-configuration', ''],
])(
  'an unavailable provider stops no start, and a sign-in shows both issuers where its issuer %s',
  async (_what, configured, other) => {
    stated = undefined;
    const service = await start(origin + configured);
    onTestFinished(() => service.stop());
    stated = origin + other;
    const answer = await browserOn(service.running.url).get('/api/login/oidc', {
      accept: 'application/json',
    });
    expect([answer.status, answer.json.code]).toEqual([503, 'PROVIDER_UNAVAILABLE']);
    expect(answer.json.error).toContain(`SV_OIDC_ISSUER is "${origin + configured}"`);
    expect(answer.json.error).toContain(`"${stated}"`);
  },
);

test('an issuer with a slash at its end is accepted', async () => {
  stated = `${origin}/realm/`;
  const service = await start(stated);
  onTestFinished(() => service.stop());
  expect((await browserOn(service.running.url).get('/api/login/oidc')).status).toBe(303);
});
