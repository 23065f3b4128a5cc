import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rememberedSession } from '../mcp-clients/remembered-session.ts';
import { allowInBrowser } from '../support/consent-page.ts';
import { useConsole } from '../support/console.ts';
import { inShell, isInstalled } from '../support/in-shell.ts';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';

// What the console shows to be pasted works as it stands there, and is what the guides say.

const own = useConsole();
const folder = tempDir();
afterAll(() => folder.remove());

const SECRET = 'a secret of the snippets';
/** A name that a shell, an address and a program must each spell in their own way. */
const HOSTILE = `it's "$(exit 9)" \`!\` \\ & %21 \u202Eevil 🔑`;
beforeAll(async () => {
  for (const name of ['github', HOSTILE])
    await storeOn(own.service.pair, name, { tokenType: 'PlainText', value: SECRET });
});

const guide = (page: string): string =>
  readFileSync(new URL(`../../../docs/guides/${page}.md`, import.meta.url), 'utf8');

/** Opens the part of the screen that connects programs, and chooses one. @returns the texts to paste */
async function textsFor(agent: PairAgent, program: string, by?: 'With the key'): Promise<readonly string[]> {
  await own.open(`/agents/${agent.id}?tab=connect`);
  // The texts name a credential that it is granted.
  await own.page.getByText('This agent can fetch').waitFor();
  await own.page.getByRole('radio', { name: program, exact: true }).check({ force: true });
  if (by !== undefined) await own.page.getByRole('radio', { name: by }).check({ force: true });
  await own.button('Reveal the key').click();
  await own.button('Copy The key').waitFor();
  return own.page.locator('ol pre').allTextContents();
}

const run = (script: string, env?: Readonly<Record<string, string>>) => inShell(folder.path, script, env);

const hasCurl = isInstalled('curl') && isInstalled('jq');
const hasPython = isInstalled('python3');

describe.each(['github', HOSTILE])('what is shown for the credential %j', (service) => {
  test.skipIf(!hasPython)('fetches it in Python', async () => {
    const [program = '', command = ''] = await textsFor(await agentOn(own.service.pair, service), 'Python');
    writeFileSync(join(folder.path, 'agent.py'), program);
    const done = await run(command);
    expect(done).toEqual({ code: 0, stdout: `Fetched ${service}\n`, stderr: '' });
    await own.expectSound('agent-connect-python');
  });

  test('fetches it in Node', async () => {
    const [program = '', command = ''] = await textsFor(await agentOn(own.service.pair, service), 'Node');
    writeFileSync(join(folder.path, 'agent.mjs'), program);
    expect(await run(command)).toEqual({ code: 0, stdout: `Fetched ${service}\n`, stderr: '' });
  });

  test.skipIf(!hasCurl)('fetches it by curl', async () => {
    const texts = await textsFor(await agentOn(own.service.pair, service), 'curl');
    const stdout = `Fetched ${SECRET.length} characters\n`;
    expect(await run(texts.join('\n'))).toEqual({ code: 0, stdout, stderr: '' });
  });

  test.skipIf(!hasCurl)('fetches it in a step of GitHub Actions, and hides it in the log', async () => {
    const agent = await agentOn(own.service.pair, service);
    const [key = '', step = ''] = await textsFor(agent, 'GitHub Actions');
    expect(key).toBe(agent.apiKey);
    const script = /\n {2}run: \|\n([\s\S]*)/.exec(step)?.[1] ?? '';
    const done = await run(script, { SVAULT_KEY: key });
    expect(done).toEqual({ code: 0, stdout: `::add-mask::${SECRET}\n`, stderr: '' });
  });
});

test.skipIf(!hasCurl || !hasPython)(
  'without a grant the texts say so, and end with the code of the denial',
  async () => {
    const agent = await agentOn(own.service.pair);
    const curl = await textsFor(agent, 'curl');
    await own.page.getByText('This agent can fetch nothing yet.').waitFor();
    expect(await run(curl.join('\n'))).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('NO_GRANT'),
    });
    const [program = '', command = ''] = await textsFor(agent, 'Python');
    writeFileSync(join(folder.path, 'agent.py'), program);
    expect(await run(command)).toMatchObject({ code: 1, stderr: expect.stringContaining('NO_GRANT') });
  },
);

test('a text is copied as it is shown', async () => {
  await own.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const [program] = await textsFor(await agentOn(own.service.pair, 'github'), 'Node');
  await own.page.getByRole('button', { name: /^Copy Save as agent.mjs/ }).click();
  await own.page.getByText('Copied').waitFor();
  expect(await own.page.evaluate('navigator.clipboard.readText()')).toBe(program);
});

describe('the MCP configuration', () => {
  const INFO = { name: 'a client of the page', version: '1.0.0' };

  /** Calls a tool by a configuration, as the program does that reads it. */
  async function whoami(transport: StreamableHTTPClientTransport): Promise<unknown> {
    const client = new Client(INFO);
    await client.connect(transport);
    const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} });
    await client.close();
    return structuredContent;
  }

  async function mcpAgent(): Promise<PairAgent> {
    const agent = await agentOn(own.service.pair, 'github');
    await own.service.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    return agent;
  }

  test.each([
    ['Cursor', 'mcpServers', /\$\{env:SVAULT_KEY\}/],
    ['VS Code', 'servers', /\$\{input:svault-builder-\d+\}/],
  ])('of %s lets it in with the key', async (program, member, placeholder) => {
    const agent = await mcpAgent();
    const texts = await textsFor(agent, program, 'With the key');
    const text = texts.find((each) => each.startsWith('{')) ?? '';
    const { url, headers } = JSON.parse(text.replace(placeholder, agent.apiKey))[member].svault;
    expect(texts.some((each) => each.includes(agent.apiKey))).toBe(true);
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    expect(await whoami(transport)).toMatchObject({ id: agent.id });
  });

  test.each([
    ['Cursor', 'mcpServers'],
    ['VS Code', 'servers'],
  ])(
    'of %s leads to the browser; the session is listed, and its end shuts the client out',
    async (program, member) => {
      const agent = await mcpAgent();
      const [text = ''] = await textsFor(agent, program);
      const url = new URL(JSON.parse(text)[member].svault.url);
      const { provider, takeOpened } = rememberedSession<object, { access_token: string }, object>();
      const transport = () => new StreamableHTTPClientTransport(url, { authProvider: provider as never });
      await expect(whoami(transport())).rejects.toThrow(UnauthorizedError);
      const callback = new URL(await allowInBrowser(takeOpened(), own.session, { agentId: agent.id }));
      await transport().finishAuth(callback.searchParams);
      expect(await whoami(transport())).toMatchObject({ id: agent.id });

      await own.link('MCP clients').click();
      const sessions = own.page.getByRole('list', { name: 'MCP clients' });
      await expect.poll(() => sessions.getByRole('listitem').count()).toBe(1);
      await own.expectSound('agent-clients');
      await own.page.getByRole('button', { name: /^End the session of/ }).click();
      await own.page.getByRole('alertdialog').getByText('can no longer act as').waitFor();
      await own.button('End session').click();
      await own.page.getByText('No MCP client acts as this agent.').waitFor();
      await expect(whoami(transport())).rejects.toThrow(UnauthorizedError);
    },
  );

  test('says that MCP is off, and switches it on', async () => {
    const agent = await agentOn(own.service.pair);
    await own.open(`/agents/${agent.id}?tab=connect`);
    await own.page.getByText('MCP is off for this agent').waitFor();
    await own.expectSound('agent-connect-off');
    await own.button('Switch MCP on').click();
    await own.page.getByText('MCP is off for this agent').waitFor({ state: 'detached' });
  });
});

describe('every line of a text is in the guide', () => {
  /** How a text of the page is about something else than the example of the guide. */
  const asInGuide = (line: string): string =>
    line
      .trim()
      .replace('service=github', 'service=npm')
      .replaceAll('CREDENTIAL', 'NODE_AUTH_TOKEN')
      .replaceAll(/svault-builder-\d+/g, 'svault-ci');

  test.each<
    [program: string, by: 'as it is' | 'With the key', page: string, but: (key: string) => readonly string[]]
  >([
    ['Claude Code', 'as it is', 'claude-code', () => []],
    ['Claude Code', 'With the key', 'claude-code', (key) => [`KEY=${key}`]],
    ['Cursor', 'as it is', 'cursor-and-vscode', () => []],
    ['Cursor', 'With the key', 'cursor-and-vscode', (key) => [`export SVAULT_KEY=${key}`]],
    ['VS Code', 'as it is', 'cursor-and-vscode', () => []],
    ['VS Code', 'With the key', 'cursor-and-vscode', (key) => [key]],
    [
      'Python',
      'as it is',
      'python-agent',
      (key) => [
        '# The credential is token["accessToken"].',
        'print("Fetched", token["serviceName"])',
        `SVAULT_BASE_URL=${own.address('')} SVAULT_KEY=${key} python3 agent.py`,
      ],
    ],
    [
      'Node',
      'as it is',
      'node-agent',
      (key) => [
        'const token = await getCredential("github");',
        '// The credential is token.accessToken.',
        "console.log('Fetched', token.serviceName);",
        `SVAULT_BASE_URL=${own.address('')} SVAULT_KEY=${key} node agent.mjs`,
      ],
    ],
    [
      'curl',
      'as it is',
      'ci',
      (key) => [`SVAULT_KEY=${key}`, 'echo "Fetched ${#NODE_AUTH_TOKEN} characters"'],
    ],
    ['GitHub Actions', 'as it is', 'ci', (key) => [key, '- name: Fetch the credential']],
  ])('of %s, %s, but what is of this agent', async (program, by, page, but) => {
    const agent = await agentOn(own.service.pair, 'github');
    const lines = (await textsFor(agent, program, by === 'as it is' ? undefined : by)).flatMap((text) =>
      text.split('\n'),
    );
    const text = guide(page).replaceAll(/https:\/\/svault\.example\.org|\$SVAULT_BASE_URL/g, own.address(''));
    expect(lines.map(asInGuide).filter((line) => !text.includes(line))).toEqual(but(agent.apiKey));
    expect(lines.length).toBeGreaterThan(but(agent.apiKey).length);
  });
});
