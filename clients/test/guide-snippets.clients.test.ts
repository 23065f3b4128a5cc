/** What docs/guides shows beside whole programs: unit tests of an agent, an MCP client, and a step of a build. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hasPython } from '@svault/test-kit/foreign-packages';
import { ROOT, isInstalled, run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type AgentsOfPair, agentsOfPair } from './support/agents-of-pair.ts';
import { type GuideSnippet, filesOf } from './support/guide-programs.ts';
import { NODE_CLIENT, PYTHON_CLIENT } from './support/packed-clients.ts';
import { pythonEnvironment } from './support/python.ts';

let agents: AgentsOfPair;
beforeAll(async () => {
  agents = await agentsOfPair();
  await agents.store('github', 'a secret');
});
afterAll(() => agents.pair.close());

const folders = { python: tempDir(), node: tempDir() };
afterAll(() => {
  for (const folder of Object.values(folders)) folder.remove();
});

/** Writes the file of a snippet. @returns the folder */
function written(snippet: GuideSnippet, { path }: { readonly path: string }): string {
  for (const [file, text] of filesOf(snippet)) writeFileSync(join(path, file), text);
  return path;
}

if (!hasPython) process.stderr.write('\nNOT TESTED: snippets of docs/guides/python-agent.md\n\n');

const RUN_TESTS = `
import test_agent
tests = [each for name, each in vars(test_agent).items() if name.startswith("test_")]
for each in tests:
    each()
print(len(tests))
`;

test.skipIf(!hasPython)(
  'the unit tests of an agent in Python pass, and the strict checks of mypy',
  async () => {
    const cwd = written({ page: 'python-agent.md', name: 'unit-test' }, folders.python);
    const [python, { env }] = [await pythonEnvironment(), await PYTHON_CLIENT.install(cwd)];
    const passed = await run([python, '-W', 'error', '-c', RUN_TESTS], { cwd, env });
    expect(passed).toEqual({ code: 0, stdout: '2\n', stderr: '' });
    const mypy = ['-m', 'mypy', '--strict', '--no-incremental', 'test_agent.py'];
    const checked = await run([python, ...mypy], { cwd, env: { MYPYPATH: join(cwd, 'packed/site') } });
    expect(checked).toMatchObject({ code: 0, stdout: 'Success: no issues found in 1 source file\n' });
  },
);

test.skipIf(!hasPython)('the MCP client in Python lists what an agent with MCP is granted', async () => {
  const cwd = written({ page: 'python-agent.md', name: 'mcp' }, folders.python);
  const { env } = await PYTHON_CLIENT.install(cwd);
  const { id, env: ofAgent } = await agents.agent('github');
  await agents.pair.admin.call('PATCH', `/api/agents/${id}`, { mcpEnabled: true });
  const listed = await run([await pythonEnvironment(), 'agent.py'], { cwd, env: { ...env, ...ofAgent } });
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("'serviceName': 'github'") });
});

test('the unit tests of an agent in Node pass', async () => {
  const cwd = written({ page: 'node-agent.md', name: 'unit-test' }, folders.node);
  const { interpreter } = await NODE_CLIENT.install(cwd);
  const { code, stdout } = await run([...interpreter, '--test', 'agent.test.mjs'], { cwd });
  expect([code, /^. pass (\d)$/m.exec(stdout)?.[1]]).toEqual([0, '2']);
});

test.skipIf(!isInstalled('jq', '--version'))(
  'the step of a build has the credential, and fails with the code of a denial',
  async () => {
    await agents.store('npm', 'a secret of npm');
    const page = readFileSync(join(ROOT, 'docs/guides/ci.md'), 'utf8');
    const [, script = ''] = /\n {2}run: \|\n([\s\S]*?)```/.exec(page) ?? [];
    const build = async (...services: readonly string[]) => {
      const { env } = await agents.agent(...services);
      const here = script
        .replace('https://svault.example.org', env.SVAULT_BASE_URL)
        .replace('npm publish', 'printenv NODE_AUTH_TOKEN');
      // As GitHub runs a step with `shell: bash`.
      return run(['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', here], { env });
    };
    const stdout = '::add-mask::a secret of npm\na secret of npm\n';
    expect(await build('npm')).toEqual({ code: 0, stdout, stderr: '' });
    const denied = { code: 5, stdout: '', stderr: expect.stringMatching(/NO_GRANT.*request req_/) };
    expect(await build()).toEqual(denied);
  },
);
