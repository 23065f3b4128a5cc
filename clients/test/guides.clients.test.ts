/** The programs of docs/guides, as they stand on the pages, as agents of a real pair. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type AgentsOfPair, agentsOfPair } from './support/agents-of-pair.ts';
import { GUIDE_PROGRAMS, type GuideProgram, filesOf, markedBlocks } from './support/guide-programs.ts';
import { type RogueServer, json, startRogueServer } from './support/rogue-server.ts';
import { type Finished, run } from './support/run.ts';

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
  const tested = GUIDE_PROGRAMS.filter((program) => program.page === page).map(({ name }) => name);
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
      writeFileSync(path, text);
    }
    runnable = await program.prepare(folder.path);
  }, 600_000);
  afterAll(() => folder.remove());

  const runAs = (env: Readonly<Record<string, string>>): Promise<Finished> =>
    run(runnable.command, {
      cwd: folder.path,
      env: { ...runnable.env, ...env, GITHUB_API: github.url },
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
      expect([wire.includes('/v1/credential?ticket='), tracesOf(env.SVAULT_KEY, wire)]).toEqual([true, []]);
    },
  );

  test.skipIf(missing)('ends with the code of a denial, and shows neither key nor ticket', async () => {
    const { env } = await agents.agent();
    const { code, stdout, stderr } = await runAs(env);
    expect([code === 0, stdout]).toEqual([false, '']);
    expect(stderr).toContain('NO_GRANT');
    expect(stderr).not.toMatch(/svagent_|ticket=/);
  });
});
