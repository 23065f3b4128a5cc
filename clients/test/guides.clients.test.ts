/** The programs of docs/guides, as they stand on the pages, as agents of a real pair. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type Finished, run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type AgentsOfPair, agentsOfPair } from './support/agents-of-pair.ts';
import {
  GUIDE_PROGRAMS,
  GUIDE_SNIPPETS,
  type GuideProgram,
  filesOf,
  markedBlocks,
} from './support/guide-programs.ts';
import { type Answering, type RogueServer, json, startRogueServer } from './support/rogue-server.ts';

const SECRET = 'ghp_the-credential-of-the-guides';

let agents: AgentsOfPair;
/** GitHub's API, as far as the programs call it. */
let github: RogueServer;
beforeAll(async () => {
  agents = await agentsOfPair();
  await agents.store('github', SECRET);
  github = await startRogueServer(() => json(200, {}));
});
afterAll(async () => {
  await agents.pair.close();
  await github.close();
});

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

/** In front of the control plane: limits its first request, and passes on every other. */
const startLimiter = (): Promise<RogueServer> =>
  startRogueServer((at) =>
    at === 0
      ? json(
          429,
          { error: 'Too many requests.', code: 'RATE_LIMITED', requestId: 'req_a' },
          { 'retry-after': '0' },
        )
      : async (res, req) => {
          const { authorization = '', accept = '' } = req.headers;
          const answer = await fetch(agents.pair.controlPlaneUrl() + req.url, {
            headers: { authorization, accept },
            redirect: 'manual',
          });
          res.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
        },
  );

const pages = [...new Set(GUIDE_PROGRAMS.map(({ page }) => page))];
test.each(pages)('every block of %s that says that it is tested is', (page) => {
  const tested = [...GUIDE_PROGRAMS, ...GUIDE_SNIPPETS]
    .filter((program) => program.page === page)
    .map(({ name }) => name);
  expect([...new Set(markedBlocks(page).map(({ name }) => name))].toSorted()).toEqual(tested.toSorted());
});

describe.each(GUIDE_PROGRAMS)('$page, $name', (program) => {
  const missing = !program.isInstalled;
  if (missing)
    process.stderr.write(
      `\nNOT TESTED: ${program.name} of docs/guides/${program.page}, whose toolchain is not installed here\n\n`,
    );
  const folder = tempDir();
  let runnable: Awaited<ReturnType<GuideProgram['prepare']>>;
  // A compiler's first run on a machine downloads and compiles libraries too.
  beforeAll(async () => {
    if (missing) return;
    for (const [file, text] of filesOf(program)) {
      const path = join(folder.path, file);
      mkdirSync(dirname(path), { recursive: true });
      expect(text).not.toContain('127.0.0.1');
      writeFileSync(path, text.replaceAll('https://api.github.com', github.url));
    }
    runnable = await program.prepare(folder.path);
  }, 600_000);
  afterAll(() => folder.remove());

  const runAs = (env: Readonly<Record<string, string>>): Promise<Finished> =>
    run(runnable.command, {
      cwd: folder.path,
      env: { ...runnable.env, ...env },
    });

  test.skipIf(missing)(
    'waits, fetches, uses the credential, and shows its key to the control plane alone',
    async () => {
      const { env } = await agents.agent('github');
      const limiter = await startLimiter();
      const [wireBefore, callsBefore] = [agents.pair.recorded().length, github.requests.length];
      const { code, stdout, stderr } = await runAs({ ...env, SVAULT_BASE_URL: limiter.url });
      expect([code, stdout]).toEqual([0, '200\n']);
      expect(stderr).not.toMatch(/svagent_|ticket=|ghp_/);
      await limiter.close();
      expect(limiter.requests.map(({ authorization }) => authorization)).toEqual(
        Array(2).fill(`Bearer ${env.SVAULT_KEY}`),
      );
      const calls = github.requests.slice(callsBefore);
      expect(calls).toEqual([{ target: '/user', authorization: `Bearer ${SECRET}` }]);
      const wire = agents.pair.recorded().subarray(wireBefore);
      expect([wire.includes('GET /v1/credential'), tracesOf(env.SVAULT_KEY, wire)]).toEqual([true, []]);
      // Nor is the ticket in an address, except where the client asks, whose errors repeat none.
      expect(wire.includes('?ticket=')).toBe(program.name === 'client');
    },
  );

  test.skipIf(missing)('ends with the code of a denial, and shows neither key nor ticket', async () => {
    const { env } = await agents.agent();
    const { code, stdout, stderr } = await runAs(env);
    expect([code === 0, stdout]).toEqual([false, '']);
    expect(stderr).toMatch(/NO_GRANT.*request req_/);
    expect(stderr).not.toMatch(/svagent_|ticket=|"/);
  });

  const html =
    (status: number, headers: Readonly<Record<string, string>> = {}): Answering =>
    (res) =>
      res.writeHead(status, { 'content-type': 'text/html', ...headers }).end('<html>');
  const limited = (retryAfter: string): Answering =>
    json(429, { error: 'Slow.', code: 'RATE_LIMITED', requestId: 'req_a' }, { 'retry-after': retryAfter });
  const TICKET = 'the-ticket-of-this-test';

  test.skipIf(missing).each<[string, RegExp, Answering]>([
    ['a page of another server', /not an svault response/, html(200)],
    ['a redirect', /not an svault response/, html(302, { location: 'https://example.org/' })],
    ['a wait of an hour', /RATE_LIMITED/, limited('3599')],
    ['a wait until a date', /RATE_LIMITED/, limited('Fri, 31 Dec 1999 23:59:59 GMT')],
  ])('ends with one line where the control plane answers with %s', async (_what, said, answer) => {
    const server = await startRogueServer(() => answer);
    const { code, stderr } = await runAs({ SVAULT_KEY: 'svagent_a', SVAULT_BASE_URL: server.url });
    await server.close();
    expect([code === 0, server.requests.length]).toEqual([false, 1]);
    expect(stderr.trim()).toMatch(said);
    expect(linesOf(stderr)).toBeLessThan(3);
  });

  test.skipIf(missing).each<[string, Answering]>([
    ['hangs up', (res) => res.destroy()],
    ['delivers a JWE', (res) => res.writeHead(200, { 'content-type': 'application/jose' }).end('a.b.c.d.e')],
  ])('ends with one line, and shows no ticket, where the webhook %s', async (_what, answer) => {
    const server: RogueServer = await startRogueServer((_, { url }) =>
      url?.startsWith('/v1/') === true
        ? answer
        : json(200, { url: `${server.url}/v1/credential?ticket=${TICKET}`, method: 'GET', expiresAt: '' }),
    );
    const { code, stderr } = await runAs({ SVAULT_KEY: 'svagent_a', SVAULT_BASE_URL: server.url });
    await server.close();
    expect([code === 0, stderr.includes(TICKET), linesOf(stderr) > 0, linesOf(stderr) < 3]).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});
