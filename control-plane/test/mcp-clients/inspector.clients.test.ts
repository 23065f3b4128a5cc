import { fileURLToPath } from 'node:url';
import { freePort } from '@svault/compose/free-port';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Child, type Ended, startChild } from './child.ts';
import { type OutsideService, SECRET, SERVICE, startOutsideService } from './outside-service.ts';
import { TOOLS, endSessions } from './steps.ts';

const INSPECTOR = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
);
/** The inspector's exit code where it would have to ask somebody to sign in. */
const AUTH_REQUIRED = 3;
const ACCESS_TOKEN_MS = 3_600_000;

let service: OutsideService;
beforeAll(async () => {
  service = await startOutsideService();
});
afterAll(() => service.stop());

const home = tempDir();
const started: Child[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) await child.stop();
});
afterAll(() => home.remove());

/** Starts the inspector for one request, with what it kept of earlier ones. */
function inspector(...words: readonly string[]): Child {
  const server = ['--cli', '--server-url', service.mcpUrl, '--transport', 'http', '--format', 'json'];
  const child = startChild(home.path, INSPECTOR, [...server, ...words], {
    MCP_STORAGE_DIR: home.path,
    MCP_INSPECTOR_SECRET_STORE: 'file',
    // Without a terminal it signs nobody in unless it is told to.
    MCP_AUTO_OPEN_ENABLED: 'true',
  });
  started.push(child);
  return child;
}

const call = (name: string, ...args: readonly string[]): readonly string[] => [
  '--method',
  'tools/call',
  '--tool-name',
  name,
  ...args.flatMap((arg) => ['--tool-arg', arg]),
];

/** The result that it printed. */
function resultOf({ stdout, stderr, code }: Ended): { readonly structuredContent: Record<string, unknown> } {
  if (code !== 0) throw new Error(`ended with ${code}: ${stdout}\n${stderr}`);
  return (JSON.parse(stdout) as { result: { structuredContent: Record<string, unknown> } }).result;
}

describe('the inspector’s command line', () => {
  test.each(['legacy', 'modern'])(
    'comes with an agent’s key to the tools and a credential, era %s',
    async (era) => {
      const key = ['--header', `Authorization: Bearer ${service.agent.apiKey}`, '--protocol-era', era];
      const [listed, called] = await Promise.all([
        inspector('--method', 'tools/list', '--strict', ...key).ended,
        inspector(...call('get_credential', `service=${SERVICE}`), ...key).ended,
      ]);
      const { tools } = resultOf(listed) as unknown as { tools: readonly { readonly name: string }[] };
      expect(tools.map(({ name }) => name).toSorted()).toEqual(TOOLS);
      const { credentialUrl } = resultOf(called).structuredContent;
      expect(await service.fetchCredential(String(credentialUrl))).toContain(SECRET);
    },
  );

  test('comes by OAuth from nothing to a credential, is refreshed, and would ask again when it is revoked', async () => {
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
    const first = inspector(...call('get_credential', `service=${SERVICE}`), '--callback-url', callback);
    const [, address = ''] = await first.says(/navigate to: (http\S+)/);
    expect(await service.allowAndFollow(address)).toBe(200);
    const { credentialUrl } = resultOf(await first.ended).structuredContent;
    expect(await service.fetchCredential(String(credentialUrl))).toContain(SECRET);

    service.clock.advance(ACCESS_TOKEN_MS + 1);
    const second = await inspector(...call('whoami'), '--stored-auth-only', '--protocol-era', 'modern').ended;
    expect(resultOf(second).structuredContent).toMatchObject({ id: service.agent.id });

    await endSessions(service);
    const third = await inspector(...call('whoami'), '--stored-auth-only').ended;
    expect(third).toMatchObject({ code: AUTH_REQUIRED, stdout: '' });
  });
});
