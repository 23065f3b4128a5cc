import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, type Server, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { newKey } from '@svault/shared';
import { generate } from 'selfsigned';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type CommandLine, type Outcome, commandLine } from './command-line.ts';

// Services that are none, or mean harm, or are not there: one clear line, the right exit code, no stack, and no key for others.

const KEY = newKey('svagent');
let person: CommandLine;
const servers: { close(): unknown; closeAllConnections?(): unknown }[] = [];

beforeAll(() => {
  person = commandLine({ SVAULT_KEY: KEY });
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections?.();
    server.close();
  }
});
afterAll(() => person.remove());

const at = async (server: Server): Promise<string> => {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
const answering = (listener: RequestListener): Promise<string> => at(createServer(listener));
const ask = (baseUrl: string, ...args: string[]): Promise<Outcome> =>
  person.svault(args.length === 0 ? ['ls'] : args, { env: { SVAULT_BASE_URL: baseUrl } });

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
    const url = await answering(() => undefined);
    servers.pop()?.close();
    expectLine(await ask(url), 5, /nothing listens at 127\.0\.0\.1:\d+/);
  });

  test('there is no such host: exit 5', async () => {
    expectLine(await ask('https://no-such-host.invalid'), 5, /there is no address for no-such-host\.invalid/);
  });

  test('the connection breaks: exit 5', async () => {
    expectLine(await ask(await answering((req) => req.socket.destroy())), 5, /cannot be reached/);
  });

  test('it speaks something else: exit 1', async () => {
    const server = createTcpServer((socket) =>
      socket.on('error', () => undefined).write('220 mail ready\r\n'),
    );
    expectLine(await ask(await at(server as Server)), 1, /does not speak what its address says/);
  });

  test('it speaks no TLS: exit 1', async () => {
    const url = await answering((_req, res) => res.end());
    expectLine(await ask(url.replace('http:', 'https:')), 1, /does not speak what its address says/);
  });

  test('its certificate does not verify: exit 1, and no request is sent', async () => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }]);
    const seen: IncomingMessage[] = [];
    const url = await at(createTlsServer({ key, cert }, (req) => void seen.push(req)));
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
    expectLine(await ask(await answering(listener)), 1, /svault|is the address right/);
  });

  test('an answer without an end is given up before it fills the memory', async () => {
    const url = await answering((_req, res) => {
      const more = (): void => {
        while (res.write('x'.repeat(65_536))) if (res.destroyed) return;
      };
      res.on('drain', more);
      more();
    });
    expectLine(await ask(url), 1, /answers more than a svault would/);
  });

  test('a gateway’s error page is an absence: exit 5', async () => {
    expectLine(
      await ask(await answering((_req, res) => void res.writeHead(502).end('<html>'))),
      5,
      /answered 502/,
    );
  });
});

test('a control plane that says nothing is not waited for without an end: exit 5', async () => {
  const timeout = vi
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation(() => AbortSignal.abort(new DOMException('late', 'TimeoutError')));
  try {
    expectLine(await ask(await answering(() => undefined)), 5, /did not answer in time/);
    expect(timeout).toHaveBeenCalledWith(60_000);
  } finally {
    timeout.mockRestore();
  }
});

test('the reason of a policy is printed once', async () => {
  const refusal = { code: 'POLICY_DENIED', error: 'Denied: not at night.', policy: 'nights', rule: 'time' };
  for (const [reason, said] of [
    [
      'not at night',
      'error: Denied: not at night. (policy nights) [POLICY_DENIED: svault explain POLICY_DENIED]\n',
    ],
    [
      'late',
      'error: Denied: not at night. (policy nights; late) [POLICY_DENIED: svault explain POLICY_DENIED]\n',
    ],
  ]) {
    const body = JSON.stringify({ ...refusal, reason });
    expect(await ask(await answering((_req, res) => void res.writeHead(403).end(body)))).toEqual({
      code: 3,
      out: '',
      err: said,
    });
  }
});

test('an address may end in slashes', async () => {
  const said = await ask('https://svault.example.org//', 'context', 'current', '--format', 'json');
  expect(JSON.parse(said.out)).toMatchObject({ baseUrl: 'https://svault.example.org' });
});

test('what another machine says moves no cursor and adds no line', async () => {
  const error = 'gone\n\u001b[2J\u001b]0;title\u0007\u202eerror: fine';
  const url = await answering(
    (_req, res) => void res.writeHead(404).end(JSON.stringify({ error, code: 'NOT_FOUND' })),
  );
  const said = await ask(url);
  expectLine(said, 4, /gone/);
  expect(said.err.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

describe('429', () => {
  /** @param times how often it is said before the list is given; the waits are a tenth of what they would be */
  const limited = (times: number, method = 'GET') => {
    const seen: string[] = [];
    const url = answering((req, res) => {
      seen.push(`${req.method} ${req.url}`);
      if (req.method === method && seen.length <= times)
        return void res
          .writeHead(429, { 'retry-after': '0' })
          .end('{"error":"Too many requests.","code":"RATE_LIMITED","retryAfter":0}');
      res.end('{"grants":[]}');
    });
    return { seen, url };
  };

  test('a GET is sent again after Retry-After or a pause, and then answered', async () => {
    const { seen, url } = limited(1);
    const said = await ask(await url);
    expect([said.code, seen.length]).toEqual([0, 2]);
    expect(said.err).toContain('too many requests; again in');
  });

  test('the wait ends at Ctrl-C: exit 130', async () => {
    const stop = new AbortController();
    const url = await answering((_req, res) => {
      res.writeHead(429, { 'retry-after': '60' }).end();
      setTimeout(() => stop.abort(), 50);
    });
    const said = await person.svault(['ls'], { env: { SVAULT_BASE_URL: url }, signal: stop.signal });
    expect(said).toMatchObject({ code: 130, out: '' });
  });

  test('a wait that is too long for a person is theirs to decide about: exit 7, once', async () => {
    let seen = 0;
    const url = await answering((_req, res) => {
      seen += 1;
      res
        .writeHead(429, { 'retry-after': '900' })
        .end('{"error":"Locked out.","code":"RATE_LIMITED","retryAfter":900}');
    });
    expectLine(await ask(url), 7, /Locked out\. \(again in 900 s\) \[RATE_LIMITED/);
    expect(seen).toBe(1);
  });

  // spec: 7 | The response was HTTP 429.
  test('anything but a GET is sent once: exit 7', async () => {
    const { seen, url } = limited(9, 'POST');
    const said = await person.svault(['vault', 'lock'], {
      env: { SVAULT_BASE_URL: await url, SVAULT_KEY: newKey('svadmin') },
    });
    expectLine(said, 7, /Too many requests/);
    expect(seen).toHaveLength(1);
  });
});

describe('an address that a key must not be sent to: exit 2', () => {
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
  ])('%s', async (baseUrl) => {
    const { code, out, err } = await ask(baseUrl);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^error: [^\n]*\n$/);
  });
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
