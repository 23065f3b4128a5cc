import { expect, test } from 'vitest';
import { useService } from '../support/use-service.ts';

/* A stranger with 2,600 addresses, each within its limit. */

const service = useService({ SV_TRUSTED_PROXIES: '127.0.0.0/8' });

const NETWORKS = 13;
const ADDRESSES = 200;
const REDIRECTS = [1, 2, 3, 4].map((n) => `https://flood.example/${n}${'x'.repeat(950)}`);

const register = async (address: string, redirects: readonly string[]): Promise<string> => {
  const answer = await service.anyone('POST', '/api/mcp-oauth/register', {
    headers: { 'x-forwarded-for': address },
    body: { redirect_uris: redirects, client_name: 'n' },
  });
  expect(answer.status).toBe(201);
  return answer.json.client_id as string;
};
/** Whether the authorization endpoint knows a client, without a session. */
const authorize = async (clientId: string): Promise<number> => {
  const query = new URLSearchParams({ client_id: clientId, redirect_uri: 'http://127.0.0.1/cb' });
  const path = `/api/mcp-oauth/authorize?${query.toString()}`;
  return (await service.anyone('GET', path, { headers: { 'x-forwarded-for': '198.51.100.7' } })).status;
};

test('a flood of registrations from many addresses keeps the table small and evicts no earlier client', async () => {
  const honest = await register('198.51.100.7', ['http://127.0.0.1/cb']);
  for (let network = 0; network < NETWORKS; network += 1)
    await Promise.all(
      Array.from({ length: ADDRESSES }, (_, host) => register(`203.0.${network}.${host}`, REDIRECTS)),
    );
  const bytes = await service.place.state.value(
    'SELECT sum(length(redirect_uris) + length(name)) FROM oauth_clients',
  );
  expect(Number(bytes)).toBeLessThan(8 * 1024 * 1024);
  // A known client redirects to the sign-in; an unknown one gets 400.
  expect(await authorize(honest)).toBe(303);
});
