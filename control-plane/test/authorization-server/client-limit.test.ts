import { beforeEach, expect, test } from 'vitest';
import {
  type ClientSession,
  REDIRECT,
  WIDE_LIMITS,
  approveDirectly,
  connectDirectly,
  exchange,
  postOauth,
  refresh,
  errorIn,
  useOauth,
} from '../support/oauth-client.ts';

/* Whose count a request at the token endpoint is, for clients that describe themselves: they have no row of their own. */

const LIMIT = 3;

const world = useOauth({ ...WIDE_LIMITS, SV_LIMIT_OAUTH_TOKEN: String(LIMIT) });
beforeEach(() => world.service.clock.advance(3_600_000));

let documents = 0;
const someClient = (): string => `https://client-${++documents}.example/metadata.json`;

/** Consumes the limit of the address with requests of unproven clients. */
async function useUpStrangers(): Promise<void> {
  for (let n = 0; n < LIMIT; n++) expect(await askAsStranger()).toBe('400 invalid_grant');
  expect((await askAsStranger()).slice(0, 3)).toBe('429');
}
const askAsStranger = async (clientId = someClient()): Promise<string> =>
  errorIn(await refresh(world, { refreshToken: `svsessr_${'A'.repeat(43)}`, clientId }));

test('a client that refreshes its session has its own limit', async () => {
  const clientId = someClient();
  let session: ClientSession = await connectDirectly(world, { clientId });
  await useUpStrangers();
  for (let n = 0; n < LIMIT; n++) {
    const { status, json } = await refresh(world, session);
    expect(status).toBe(200);
    session = { ...session, refreshToken: json.refresh_token as string };
  }
  expect((await refresh(world, session)).status).toBe(429);
});

test('a client that exchanges its code has its own limit', async () => {
  const code = await approveDirectly(world, { clientId: someClient() });
  await useUpStrangers();
  expect((await exchange(world, code)).status).toBe(200);
});

test("a client that presents another client's code or refresh token has no limit of its own, and consumes nothing", async () => {
  const session = await connectDirectly(world, { clientId: someClient() });
  const code = await approveDirectly(world, { clientId: someClient() });
  await useUpStrangers();
  const [stolen, guessed] = [
    await refresh(world, { ...session, clientId: someClient() }),
    await exchange(world, code, { client_id: someClient(), redirect_uri: REDIRECT }),
  ];
  expect([stolen.status, guessed.status]).toEqual([429, 429]);
  expect([(await refresh(world, session)).status, (await exchange(world, code)).status]).toEqual([200, 200]);
});

test('the 429 of the token endpoint has Retry-After, the body of every limit, and CORS', async () => {
  await useUpStrangers();
  const answer = await refresh(world, { refreshToken: 'x', clientId: someClient() });
  expect(answer.json).toEqual({ error: expect.any(String), code: 'RATE_LIMITED', retryAfter: 3_600 });
  expect([
    answer.headers.get('retry-after'),
    answer.headers.get('access-control-allow-origin'),
    answer.headers.get('access-control-expose-headers'),
  ]).toEqual(['3600', '*', 'Retry-After, WWW-Authenticate']);
});

test('a request with an Authorization header counts towards the limit of its address', async () => {
  const statuses: number[] = [];
  for (let n = 0; n <= LIMIT; n += 1)
    statuses.push((await postOauth(world.service, 'token', 'x=y', { authorization: 'Basic eDp5' })).status);
  expect(statuses).toEqual([401, 401, 401, 429]);
});
