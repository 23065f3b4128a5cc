import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { newKey } from '@svault/shared';
import { generate } from 'selfsigned';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { type Outcome, commandLine } from './command-line.ts';
import { answering, fakeServer, listening } from './fake-servers.ts';

// Services that are none, or mean harm, or are not there: one clear line, the right exit code, no stack, and no key for others.

const KEY = newKey('svagent');
const person = commandLine({ SVAULT_KEY: KEY });
afterAll(() => person.remove());

const ask = (SVAULT_BASE_URL: string): Promise<Outcome> =>
  person.svault(['ls'], { env: { SVAULT_BASE_URL } });
/** The outcome of one answer. */
const askOf = async (listener: RequestListener): Promise<Outcome> => ask(await answering(listener));

/** One line on stderr that says it; nothing on stdout. */
const expectLine = ({ code, out, err }: Outcome, exitCode: number, said: RegExp): void => {
  expect({ code, out }).toEqual({ code: exitCode, out: '' });
  expect(err).toMatch(/^error: [^\p{Cc}]*\n$/u);
  expect(err).toMatch(said);
  expect(err).not.toContain(KEY);
  expect(err).not.toMatch(/^\s+at /m);
};

describe('no service', () => {
  test('nothing listens: exit 5', async () => {
    expectLine(
      await ask('http://127.0.0.1:1'),
      5,
      /^error: nothing listens at 127\.0\.0\.1:1\. Is the control plane running\? `npm start` starts it; SVAULT_BASE_URL has the address\n$/,
    );
  });

  test('there is no such host: exit 5', async () => {
    expectLine(await ask('https://no-such-host.invalid'), 5, /there is no address for no-such-host\.invalid/);
  });

  test('the connection breaks: exit 5', async () => {
    expectLine(await askOf((req) => req.socket.destroy()), 5, /cannot be reached/);
  });

  test('it speaks something else, or no TLS: exit 1', async () => {
    const mail = createTcpServer((socket) => socket.on('error', () => undefined).write('220 mail ready\r\n'));
    const url = await answering((_req, res) => res.end());
    for (const other of [await listening(mail), url.replace('http:', 'https:')])
      expectLine(await ask(other), 1, /does not speak what its address says/);
  });

  test('its certificate does not verify: exit 1, and no request is sent', async () => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }]);
    const seen: IncomingMessage[] = [];
    const url = await listening(createTlsServer({ key, cert }, (req) => void seen.push(req)));
    const SVAULT_BASE_URL = url.replace('http:', 'https:');
    // Not even where NODE_TLS_REJECT_UNAUTHORIZED switches verification off.
    const careless = { SVAULT_BASE_URL, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    for (const said of [await ask(SVAULT_BASE_URL), await person.spawned(['ls'], { env: careless })])
      expectLine(said, 1, /the certificate of 127\.0\.0\.1:\d+ does not verify \([A-Z_]+\)/);
    expect(seen).toEqual([]);
  });
});

describe('a server that is no svault: exit 1', () => {
  const cases: readonly [string, RequestListener][] = [
    ['a web page', (_req, res) => void res.setHeader('content-type', 'text/html').end('<h1>hello</h1>')],
    ['an error page', (_req, res) => void res.writeHead(404).end('<h1>not found</h1>')],
    ['an error page of its own trouble', (_req, res) => void res.writeHead(500).end('oops')],
    ['other JSON', (_req, res) => void res.end('{"items":"none"}')],
    ['a list of nothing svault has', (_req, res) => void res.end('{"grants":[{"serviceName":7}]}')],
    ['null', (_req, res) => void res.end('null')],
    ['an empty answer', (_req, res) => void res.writeHead(204).end()],
    ['bytes that are no UTF-8', (_req, res) => void res.end(Buffer.from([0xff, 0xfe, 0x00]))],
    [
      'a refusal with a code of its own making',
      (_req, res) => void res.writeHead(400).end('{"error":"x","code":"\\u001b[2J"}'),
    ],
    [
      'a redirect',
      (_req, res) => void res.writeHead(302, { location: 'https://elsewhere.example/' }).end('{"grants":[]}'),
    ],
  ];
  test.each(cases)('%s', async (_what, listener) => {
    expectLine(
      await askOf(listener),
      1,
      /no svault answers at .*; set SVAULT_BASE_URL to the address of the control plane/,
    );
  });

  test('an answer without an end is given up before it fills the memory', async () => {
    const said = await askOf((_req, res) => {
      const more = (): void => {
        while (res.write('x'.repeat(65_536))) if (res.destroyed) return;
      };
      res.on('drain', more);
      more();
    });
    expectLine(said, 1, /answers more than a svault would/);
  });

  test('a gateway’s error page is an absence: exit 5', async () => {
    expectLine(await askOf((_req, res) => void res.writeHead(502).end('<html>')), 5, /answered 502/);
  });
});

test('a control plane that says nothing is not waited for without an end: exit 5', async () => {
  const timeout = vi
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation(() => AbortSignal.abort(new DOMException('late', 'TimeoutError')));
  try {
    expectLine(await askOf(() => undefined), 5, /did not answer in time/);
    expect(timeout).toHaveBeenCalledWith(60_000);
  } finally {
    timeout.mockRestore();
  }
});

test.each([
  ['not at night', ''],
  ['late', '; late'],
])('the reason of a policy is printed once: %s', async (reason, said) => {
  const body = {
    code: 'POLICY_DENIED',
    error: 'Denied: not at night.',
    policy: 'nights',
    rule: 'time',
    reason,
  };
  const { url } = await fakeServer(() => ({ status: 403, body }));
  const line = `error: Denied: not at night. (policy nights${said}) [POLICY_DENIED: svault explain POLICY_DENIED]\n`;
  expect(await ask(url)).toEqual({ code: 3, out: '', err: line });
});

test('what another machine says moves no cursor and adds no line', async () => {
  const error = 'gone\n\u001b[2J\u001b]0;title\u0007\u202eerror: fine';
  const { url } = await fakeServer(() => ({ status: 404, body: { error, code: 'NOT_FOUND' } }));
  const said = await ask(url);
  expectLine(said, 4, /gone/);
  expect(said.err.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

describe('429', () => {
  const limited = (retryAfter: number) => ({
    status: 429,
    headers: { 'retry-after': String(retryAfter) },
    body: { error: 'Too many requests.', code: 'RATE_LIMITED', retryAfter },
  });

  test('a GET is sent again after Retry-After or a pause, and then answered', async () => {
    const answers = [limited(0), { body: { grants: [] } }];
    const { url, received } = await fakeServer(() => answers.shift());
    const said = await ask(url);
    expect([said.code, received.length]).toEqual([0, 2]);
    expect(said.err).toContain('too many requests; again in');
  });

  test('the wait ends at Ctrl-C: exit 130', async () => {
    const stop = new AbortController();
    const { url } = await fakeServer(() => {
      setTimeout(() => stop.abort(), 50);
      return limited(60);
    });
    const said = await person.svault(['ls'], { env: { SVAULT_BASE_URL: url }, signal: stop.signal });
    expect(said).toMatchObject({ code: 130, out: '' });
  });

  test('a wait that is too long for a person is theirs to decide about: exit 7, once', async () => {
    const { url, received } = await fakeServer(() => limited(900));
    expectLine(await ask(url), 7, /Too many requests\. \(again in 900 s\) \[RATE_LIMITED/);
    expect(received).toHaveLength(1);
  });

  // spec: 7 | The response was HTTP 429.
  test('anything but a GET is sent once: exit 7', async () => {
    const { url, received } = await fakeServer(() => limited(0));
    const env = { SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svadmin') };
    expectLine(await person.svault(['vault', 'lock'], { env }), 7, /Too many requests/);
    expect(received).toHaveLength(1);
  });
});

test.each([
  'http://svault.example.org',
  'http://127.0.0.1.example.org',
  'ftp://127.0.0.1',
  'file:///etc/passwd',
  'https://user:word@svault.example.org',
  'https://:word@svault.example.org',
  'https://svault.example.org/?a=1',
  'https://svault.example.org/#a',
  'svault.example.org',
  '',
])('“%s” is no address that a key may be sent to: exit 2', async (baseUrl) => {
  const { code, out, err } = await ask(baseUrl);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(/^error: [^\n]*\n$/);
});

test('an address may end in slashes', async () => {
  const env = { SVAULT_BASE_URL: 'https://svault.example.org//' };
  const { out } = await person.svault(['context', 'current', '--format', 'json'], { env });
  expect(JSON.parse(out)).toMatchObject({ baseUrl: 'https://svault.example.org' });
});

test.each([[], ['--debug']])(
  'no error moves the cursor, whoever wrote parts of it (%j)',
  async (...debug) => {
    const name = 'a\u001b[31m\u202eb\u009bc';
    const { code, err } = await person.svault(['ls', '--context', name, ...debug]);
    expect(code).toBe(2);
    expect(err).toMatch(/there is no login a \[31mb c, /);
    expect(err.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  },
);
