import { freePort } from '@svault/compose/free-port';
import type { ManualClock } from '@svault/shared';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { allowInBrowser, cookieBy } from '../support/consent-page.ts';
import { clientOf } from '../support/management-service.ts';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';

/** A service name that the agent has a grant for, and the credential that the webhook holds under it. */
export const SERVICE = 'github';
export const SECRET = 'a-secret-that-only-the-webhook-has';

/**
 * A control plane as clients on this machine find it: its public address is where it listens, since they compare issuer
 * and resource byte for byte. The reference webhook is bound and holds a credential; an agent with MCP on may fetch it; a
 * member of the account is signed in.
 */
export interface OutsideService {
  readonly url: string;
  readonly mcpUrl: string;
  readonly clock: ManualClock;
  readonly pair: TestPair;
  readonly agent: PairAgent;
  /** What the member does when a client opens an authorization address. @returns where the browser is sent */
  allow(authorizationUrl: string | URL, decision?: 'allow' | 'deny'): Promise<URL>;
  /** The same, and the browser goes there. @returns the status that the client's own page answers with */
  allowAndFollow(authorizationUrl: string | URL): Promise<number>;
  /** Uses a credential's address as the agent would. @returns what the webhook answered */
  fetchCredential(credentialUrl: string): Promise<string>;
  stop(): Promise<void>;
}

/** @param settings further ones of the service */
export async function startOutsideService(
  settings: Readonly<Record<string, string>> = {},
): Promise<OutsideService> {
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const env = { SV_BASE_URL: url, SV_LISTEN: listen, SV_WEBHOOK_SERVICE_URL: url, ...settings };
  const pair = await startPair({ logLevel: 'silent', env });
  try {
    await storeOn(pair, SERVICE, { tokenType: 'PlainText', value: SECRET });
    const agent = await agentOn(pair, SERVICE);
    await pair.admin.call('PATCH', `/api/agents/${agent.id}`, { mcpEnabled: true });
    const cookie = await signedIn(pair, url);
    const allow: OutsideService['allow'] = async (authorizationUrl, decision = 'allow') =>
      new URL(await allowInBrowser(authorizationUrl, cookie, { agentId: agent.id, decision }));
    return {
      url,
      mcpUrl: `${url}/api/agents/mcp`,
      clock: pair.clock,
      pair,
      agent,
      allow,
      allowAndFollow: async (authorizationUrl) => {
        const response = await fetch(await allow(authorizationUrl));
        await response.body?.cancel();
        return response.status;
      },
      fetchCredential: async (credentialUrl) => (await fetch(pair.bypassingRecorder(credentialUrl))).text(),
      stop: () => pair.close(),
    };
  } catch (error) {
    await pair.close();
    throw error;
  }
}

/** @returns the cookie of a member of the account who has just signed in */
async function signedIn(pair: TestPair, url: string): Promise<string> {
  const body = { email: 'person@example.org', role: 'member' };
  const { link } = await pair.admin.call<{ link: { url: string } }>('POST', '/api/members', body);
  return cookieBy({ anyone: clientOf(url) }, link.url);
}
