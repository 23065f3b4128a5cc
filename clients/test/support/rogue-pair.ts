import { afterAll, afterEach, beforeAll } from 'vitest';
import { tempDir } from '@svault/test-kit/temp-dir';
import type { Call, Outcome, PackedClient } from './packed-clients.ts';
import { type Answering, type RogueServer, json, startRogueServer } from './rogue-server.ts';

export const SVAULT_KEY = `svagent_${'k'.repeat(43)}`;
export const SECRET = 'the-credential-of-this-test';
export const TICKET = 'the-ticket-of-this-test';
export const GET: Call = { call: 'get', service: 'github' };
export const CREATED = '2026-01-01T00:00:00.000Z';

export const token = (further: object = {}): object => ({
  token: {
    accessToken: SECRET,
    serviceName: 'github',
    tokenType: 'PlainText',
    createdAt: CREATED,
    ...further,
  },
});
export const denial = (status: number, code: string, retryAfter?: string): Answering =>
  json(status, { error: 'Denied.', code }, retryAfter === undefined ? {} : { 'retry-after': retryAfter });

export const ASK = '/api/agents/credentials?service=github&redirect=false';
export const FETCH = `/v1/credential?ticket=${TICKET}`;
export const targets = ({ requests }: RogueServer): readonly string[] => requests.map(({ target }) => target);

/** Servers of a test, which end with it. */
export function useRogues() {
  const open: RogueServer[] = [];
  afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));
  async function rogue(answering: Parameters<typeof startRogueServer>[0]): Promise<RogueServer> {
    const server = await startRogueServer(answering);
    open.push(server);
    return server;
  }
  /** One server as control plane and webhook, each of which answers in turn. The last answer stays. */
  async function pairOf(
    controlPlane: readonly (Answering | 'ticket')[],
    webhook: readonly Answering[] = [json(200, token())],
  ): Promise<RogueServer> {
    const at = { controlPlane: 0, webhook: 0 };
    const server: RogueServer = await rogue((_, req) => {
      if (req.url?.startsWith('/v1/credential') === true)
        return webhook[Math.min(at.webhook++, webhook.length - 1)] ?? json(404, {});
      const answer = controlPlane[Math.min(at.controlPlane++, controlPlane.length - 1)];
      return answer === 'ticket' || answer === undefined
        ? json(200, {
            url: `${server.url}/v1/credential?ticket=${TICKET}`,
            method: 'GET',
            expiresAt: CREATED,
          })
        : answer;
    });
    return server;
  }
  return { rogue, pairOf };
}

/** A packed client in an empty folder, for the tests of one `describe`. */
export function useInstalled(client: PackedClient) {
  const missing = !client.isInstalled;
  if (missing)
    process.stderr.write(`\nNOT TESTED: ${client.name}, whose toolchain is not installed here\n\n`);
  const folder = tempDir();
  let installed: Awaited<ReturnType<PackedClient['install']>>;
  beforeAll(async () => {
    if (!missing) installed = await client.install(folder.path);
  });
  afterAll(() => folder.remove());
  return {
    missing,
    /** Runs calls with nothing in their environment but this. */
    drive: (env: Readonly<Record<string, string>>, calls: readonly Call[]): Promise<readonly Outcome[]> =>
      installed.drive(env, calls),
    run: (calls: readonly Call[], further: Readonly<Record<string, string>> = {}) =>
      installed.drive({ SVAULT_KEY, ...further }, calls),
    /** One call, of which nothing secret may be shown. */
    async only(base: string, call: Call = GET): Promise<Outcome> {
      const [outcome] = await installed.drive({ SVAULT_KEY, SVAULT_BASE_URL: base }, [call]);
      if (outcome === undefined) throw new Error('the driver printed no outcome');
      const shown = [SVAULT_KEY, TICKET, SECRET].filter((secret) => outcome.shown.includes(secret));
      if (shown.length > 0) throw new Error(`the client shows ${shown.join(' and ')}`);
      return outcome;
    },
  };
}
