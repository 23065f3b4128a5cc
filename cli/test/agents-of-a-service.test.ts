import { newKey } from '@svault/shared';
import { afterEach, expect, test } from 'vitest';
import { type CommandLine, commandLine } from './command-line.ts';
import { type Answer, type FakeServer, fakeServer } from './fake-servers.ts';

// What the client makes of a control plane that answers oddly; agents.test.ts has one that does as it should.

let service: FakeServer;
let admin: CommandLine;
afterEach(async () => {
  await service.close();
  admin.remove();
});

const AGENT = {
  id: 'agt_1',
  name: 'ci',
  description: '',
  status: 'active',
  mcpEnabled: false,
  createdAt: '2026-11-20T12:00:00.000Z',
  lastUsedAt: null,
  keyPrefix: 'svagent_abcd…',
};

/** @param answers by method and path; 500 for whatever else is asked */
async function serviceWith(answers: Readonly<Record<string, Answer>>): Promise<void> {
  service = await fakeServer(
    ({ method, path }) =>
      answers[`${method} ${path.split('?')[0]}`] ?? {
        status: 500,
        body: { error: 'broken', code: 'INTERNAL_ERROR' },
      },
  );
  admin = commandLine({ SVAULT_BASE_URL: service.url, SVAULT_KEY: newKey('svadmin') });
}
const asked = (): string[] => service.received.map(({ method, path }) => `${method} ${path}`);

test('no name is looked for where the control plane cannot say whether there is such an id', async () => {
  await serviceWith({});
  expect(await admin.svault(['agents', 'rm', 'agt_1', '--yes'])).toMatchObject({ code: 1, out: '' });
  expect(asked()).toEqual(['GET /api/agents/agt_1']);
});

test('what only begins as an id is a name, and no path', async () => {
  await serviceWith({ 'GET /api/agents': { status: 200, body: { items: [AGENT] } } });
  expect(await admin.svault(['agents', 'rm', 'agt_1/grants', '--yes'])).toMatchObject({ code: 4, out: '' });
  expect(asked()).toEqual(['GET /api/agents?limit=100']);
});

test('a name is found in every Unicode form of its letters', async () => {
  await serviceWith({
    'GET /api/agents': { status: 200, body: { items: [{ ...AGENT, name: 'Zoe\u0308' }] } },
    'POST /api/agents/agt_1/suspend': { status: 200, body: { ...AGENT, status: 'suspended' } },
  });
  for (const typed of ['Zo\u00eb', 'Zoe\u0308'])
    expect(await admin.svault(['agents', 'suspend', typed])).toMatchObject({ code: 0 });
});

test('a key that is none is not printed', async () => {
  const apiKey = 'svagent_\u001b[2J';
  await serviceWith({ 'POST /api/agents': { status: 201, body: { agent: AGENT, apiKey } } });
  expect(await admin.svault(['agents', 'create', '--name', 'ci'])).toMatchObject({ code: 1, out: '' });
});

test.each(['table', 'json'])(
  '--format %s: the key is printed though a grant fails, and so is the failure',
  async (format) => {
    const apiKey = newKey('svagent');
    await serviceWith({ 'POST /api/agents': { status: 201, body: { agent: AGENT, apiKey } } });
    const args = ['agents', 'create', '--name', 'ci', '--grants', 'github', '--format', format];
    const { code, out, err } = await admin.svault(args);
    expect(code).toBe(1);
    expect(out).toContain(apiKey);
    expect(err).toContain('error: broken');
  },
);
