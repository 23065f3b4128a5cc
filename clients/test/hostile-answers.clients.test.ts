/** Both clients, packed and installed into an empty folder, and servers that answer as no svault should. */
import { describe, expect, test } from 'vitest';
import { PACKED_CLIENTS } from './support/packed-clients.ts';
import { type Answering, json, startRogueServer } from './support/rogue-server.ts';
import {
  ASK,
  CREATED,
  FETCH,
  GET,
  SECRET,
  SVAULT_KEY,
  TICKET,
  denial,
  targets,
  token,
  useInstalled,
  useRogues,
} from './support/rogue-pair.ts';

describe.each(PACKED_CLIENTS)('$name', (client) => {
  const { missing, run, only } = useInstalled(client);
  const { pairOf, rogue } = useRogues();

  test.skipIf(missing)(
    'waits as Retry-After says, and takes both steps again since a ticket works once',
    async () => {
      const controlPlane = [
        denial(429, 'RATE_LIMITED', '7'),
        denial(503, 'WEBHOOK_UNAVAILABLE', '2'),
        'ticket',
      ];
      const server = await pairOf(controlPlane as readonly (Answering | 'ticket')[], [
        denial(409, 'REFRESH_NEEDED', '0'),
        json(200, token()),
      ]);
      const { result, pauses, waits } = await only(server.url);
      expect([result.accessToken, pauses]).toEqual([SECRET, [7, 2, 0.25]]);
      expect(waits).toEqual(['RATE_LIMITED: 7 s', 'WEBHOOK_UNAVAILABLE: 2 s', 'REFRESH_NEEDED: 0.25 s']);
      expect(targets(server)).toEqual([ASK, ASK, ASK, FETCH, ASK, FETCH]);
      expect(server.requests.map(({ authorization }) => authorization)).toEqual([
        ...Array<string>(3).fill(`Bearer ${SVAULT_KEY}`),
        undefined,
        `Bearer ${SVAULT_KEY}`,
        undefined,
      ]);
    },
  );

  test.skipIf(missing).each([
    ['four tries', denial(429, 'RATE_LIMITED', '1'), [1, 1, 1]],
    ['its longest wait, all tries together', denial(429, 'RATE_LIMITED', '30'), [30, 30]],
    ['no try, where the wait is longer than that', denial(429, 'RATE_LIMITED', '3600'), []],
    ['no try, where nothing says how long', denial(429, 'RATE_LIMITED'), []],
    ['no try, where the wait is no number', denial(429, 'RATE_LIMITED', '1e3'), []],
    ['no try, where waiting changes nothing', denial(403, 'POLICY_DENIED', '1'), []],
  ])('asks again until %s', async (_until, answer, expected) => {
    const server = await pairOf([answer]);
    const { error, pauses } = await only(server.url);
    expect([error?.code?.length, pauses]).toEqual([expect.any(Number), expected]);
    expect(targets(server)).toEqual(Array(expected.length + 1).fill(ASK));
  });

  test.skipIf(missing)(
    'tells the request id and the policy of a denial, and no control character of it',
    async () => {
      const body = {
        error: 'No\u001b[2J.\n',
        code: 'POLICY_DENIED',
        policy: 'night\u0007',
        requestId: 'r-1.2',
      };
      const [whole, byHeader, wrongId] = await Promise.all(
        [
          json(403, body),
          json(403, { ...body, requestId: undefined }, { 'x-request-id': 'h-1' }),
          json(403, { ...body, requestId: 'a b' }),
        ].map(async (answer) => (await only((await pairOf([answer])).url)).error),
      );
      expect(whole).toMatchObject({ name: 'ApiError', status: 403, code: 'POLICY_DENIED', policy: 'night ' });
      expect(whole?.message).toMatch(/^127\.0\.0\.1:\d+: No \[2J\. {2}\(POLICY_DENIED, request r-1\.2\)$/);
      expect([whole?.requestId, byHeader?.requestId, wrongId?.requestId]).toEqual([
        'r-1.2',
        'h-1',
        undefined,
      ]);
    },
  );

  test.skipIf(missing).each([301, 302, 307, 308])(
    'follows no redirect %i, neither with its key nor with a ticket',
    async (status) => {
      const elsewhere = await rogue(() => json(200, token()));
      const redirect: Answering = (res) => res.writeHead(status, { location: elsewhere.url }).end();
      for (const server of [await pairOf([redirect]), await pairOf(['ticket'], [redirect])])
        expect((await only(server.url)).error?.name).toBe('UnexpectedAnswer');
      expect(targets(elsewhere)).toEqual([]);
    },
  );

  test.skipIf(missing).each([
    ['plain http', 'http://192.0.2.1/v1/credential?ticket='],
    ['a name like that of this machine', 'http://localhost.example.org/v1/credential?ticket='],
    ['a name that begins like the address of this machine', 'http://127.0.0.1.example.org/?ticket='],
    ['a user name', 'https://127.0.0.1@example.org/v1/credential?ticket='],
    ['a backslash', 'http://127.0.0.1\\@example.org/v1/credential?ticket='],
    ['a fragment', 'https://example.org/v1/credential#'],
    ['a line break', 'https://example.org/v1/credential?a=\r\nx-a: '],
    ['another scheme', 'file:///etc/passwd?'],
    ['no host', 'https:///v1/credential?ticket='],
    ['a path alone', '/v1/credential?ticket='],
    ['too many characters', `https://example.org/v1/credential?a=${'a'.repeat(8_192)}`],
  ])('opens no address with %s', async (_what, start) => {
    const server = await pairOf([json(200, { url: start + TICKET, method: 'GET', expiresAt: CREATED })]);
    const { error } = await only(server.url);
    expect(error?.name).toBe('UnexpectedAnswer');
    expect(error?.message).toMatch(/not opened|not an svault response/);
    expect(targets(server)).toEqual([ASK]);
  });

  test.skipIf(missing)(
    'fetches from another webhook than the one that it was told only where none was',
    async () => {
      const webhook = await pairOf(['ticket']);
      const address = `${webhook.url}/v1/credential?ticket=${TICKET}`;
      const server = await rogue(() => json(200, { url: address, method: 'GET', expiresAt: CREATED }));
      const outcomes = await run(
        [
          GET,
          ...[webhook.url, `${webhook.url}/`, server.url, `${webhook.url}/v1`].map((webhook_url) => ({
            ...GET,
            options: { webhook_url },
          })),
        ],
        { SVAULT_BASE_URL: server.url },
      );
      expect(outcomes.map(({ result, error }) => result?.accessToken ?? error?.name)).toEqual([
        SECRET,
        SECRET,
        SECRET,
        'UnexpectedAnswer',
        'UnexpectedAnswer',
      ]);
      const byEnvironment = { SVAULT_BASE_URL: server.url, SVAULT_WEBHOOK_URL: server.url };
      expect((await run([GET], byEnvironment)).map(({ error }) => error?.name)).toEqual(['UnexpectedAnswer']);
      expect(targets(webhook)).toEqual([FETCH, FETCH, FETCH]);
    },
  );

  const endless: Answering = (res) => {
    const more = (): void => {
      while (!res.destroyed && res.write(Buffer.alloc(256 * 1024, 'a')));
      res.once('drain', more);
    };
    res.writeHead(200, { 'content-type': 'application/json' });
    more();
  };
  const cut: Answering = (res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    res.write(JSON.stringify(token()), () => res.destroy());
  };
  test.skipIf(missing).each<[string, string, Answering]>([
    ['never ends', 'UnexpectedAnswer', endless],
    ['is cut off', 'ConnectionFailed', cut],
    ['is none', 'ConnectionFailed', (res) => res.destroy()],
    ['is no HTTP', 'ConnectionFailed', (res) => res.socket?.end(`${SECRET}\r\n\r\n`)],
    ['is no JSON', 'UnexpectedAnswer', (res) => res.end(`{"${SECRET}`)],
    ['is no UTF-8', 'UnexpectedAnswer', (res) => res.end(Buffer.from(`{"${SECRET}":"\xff"}`, 'latin1'))],
    ['is a list', 'UnexpectedAnswer', json(200, [token()])],
    ['is nested deeply', 'UnexpectedAnswer', (res) => res.end('['.repeat(100_000))],
    ['is an error without a code', 'UnexpectedAnswer', json(500, { error: SECRET })],
    ['has a code of another form', 'UnexpectedAnswer', json(500, { error: 'a', code: `a ${SECRET}` })],
    ['has no credential', 'UnexpectedAnswer', json(200, {})],
    ['is the credential of another service', 'UnexpectedAnswer', json(200, token({ serviceName: 'a' }))],
    ['has a number for a secret', 'UnexpectedAnswer', json(200, token({ accessToken: 1 }))],
    ['has no time', 'UnexpectedAnswer', json(200, token({ createdAt: SECRET }))],
  ])('returns nothing where the answer of the webhook %s', async (_what, name, answer) => {
    const { error } = await only((await pairOf(['ticket'], [answer])).url);
    expect(error?.name).toBe(name);
  });

  test.skipIf(missing).each<[string, Answering]>([
    ['does not begin', () => undefined],
    ['drips its head', (res) => res.socket && drip(res.socket, 'HTTP/1.1 200 OK\r\n', 'x-a: b\r\n')],
    [
      'drips its body',
      (res) => res.socket && drip(res.socket, 'HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n', ' '),
    ],
  ])('gives up in time where an answer %s', async (_what, answer) => {
    const call = { ...GET, options: { timeout: 0.5 } };
    for (const server of [await pairOf([answer]), await pairOf(['ticket'], [answer])]) {
      const { error } = await only(server.url, call);
      expect(error?.name).toBe('ConnectionFailed');
      expect(error?.message).toMatch(/did not answer within 0\.5 seconds$/);
    }
  });

  test.skipIf(missing)('says that nothing listens at an address', async () => {
    const server = await startRogueServer(() => json(200, {}));
    await server.close();
    expect((await only(server.url)).error).toMatchObject({
      name: 'ConnectionFailed',
      message: expect.stringMatching(
        /^127\.0\.0\.1:\d+ cannot be reached: (ECONNREFUSED|Connection refused)$/,
      ),
    });
  });

  const html =
    (status: number): Answering =>
    (res) =>
      res.writeHead(status, { 'content-type': 'text/html' }).end('<html>');
  test.skipIf(missing)('says whether a call may succeed later', async () => {
    const answers: (readonly [Answering, readonly [string, number, boolean]])[] = [
      [denial(404, 'NO_GRANT'), ['ApiError', 404, false]],
      [denial(403, 'POLICY_DENIED'), ['ApiError', 403, false]],
      [denial(429, 'RATE_LIMITED', '3600'), ['RateLimited', 429, true]],
      [denial(500, 'INTERNAL'), ['ApiError', 500, true]],
      [denial(502, 'WEBHOOK_NOT_CONFIGURED'), ['ApiError', 502, false]],
      [denial(503, 'WEBHOOK_UNAVAILABLE', '3600'), ['ApiError', 503, true]],
      [html(502), ['UnexpectedAnswer', 502, true]],
      [html(404), ['UnexpectedAnswer', 404, false]],
      [html(200), ['UnexpectedAnswer', 200, false]],
    ];
    for (const [answer, expected] of answers) {
      const { error } = await only((await pairOf([answer])).url);
      expect([error?.name, error?.status, error?.isRetryable]).toEqual(expected);
    }
  });
});

/** Writes the same again and again, a little at a time, until the other side has had enough. */
function drip(socket: NonNullable<Parameters<Answering>[0]['socket']>, head: string, again: string): void {
  socket.on('error', () => undefined);
  socket.write(head);
  const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(again)), 20);
  socket.once('close', () => clearInterval(timer));
}
