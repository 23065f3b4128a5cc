import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { sha256, toHex } from '@svault/shared';
import { startLinkedService } from './linked-service.ts';
import { type MutantRun, proxyDoor, sendMutants } from './mcp-mutants.ts';
import { proxyOn } from './proxy-steps.ts';

/** Two services whose proxies' door mutants are sent to: one lets everything through, one limits everything. */
export interface MutantTargets {
  /** @param limited at which of the two */
  send(limited: boolean, run: { readonly seed: number; readonly count: number }): Promise<MutantRun>;
  /** Statuses of `/readyz`. */
  ready(): Promise<readonly number[]>;
  stop(): Promise<void>;
}

export async function startMutantTargets(): Promise<MutantTargets> {
  const open = await startLinkedService(RAISED_LIMITS);
  await open.bind();
  open.webhook.onProxy = ({ body }, res) => {
    res.writeHead(200, { 'sv-proxy-origin': 'upstream' }).end(toHex(sha256(body)));
  };
  const narrow = { SV_LIMIT_PROXY_MCP: '1', SV_LIMIT_MCP_HANDSHAKE: '1' };
  const limiting = await startLinkedService(narrow);
  const targets = {
    open: { service: open, proxy: await proxyOn(open) },
    limiting: { service: limiting, proxy: await proxyOn(limiting) },
  };
  // Both counters are full, and the clock stands still.
  for (const method of ['tools/list', 'tools/call', 'tools/call']) await targets.limiting.proxy.send(method);
  return {
    send: (isLimited, run) => {
      const { service, proxy } = isLimited ? targets.limiting : targets.open;
      return sendMutants(service.running.url, proxy.key, { ...run, door: proxyDoor(isLimited) });
    },
    ready: () =>
      Promise.all([open, limiting].map(async ({ anyone }) => (await anyone('GET', '/readyz')).status)),
    stop: async () => {
      await open.stop();
      await limiting.stop();
    },
  };
}
