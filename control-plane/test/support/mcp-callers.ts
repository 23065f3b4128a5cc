import { Agent } from 'node:http';
import type { ManagementService } from './management-service.ts';
import { ERAS, MCP, inEra, mcpAgentOn } from './mcp-steps.ts';
import { postOver } from './post-over.ts';

/** Connections that all callers share, as behind one reverse proxy. */
const CONNECTIONS = 20;

interface Caller {
  readonly id: string;
  readonly apiKey: string;
  readonly serviceName: string;
}

/**
 * R28: callers with equal ids, each asking for what only it may be told, in both eras and all at once.
 *
 * @returns answers that were not their caller's, the first ten
 */
export async function callAtOnce(
  service: ManagementService,
  { callers, calls }: { readonly callers: number; readonly calls: number },
): Promise<readonly string[]> {
  const all: Caller[] = [];
  for (let n = 0; n < callers; n++) {
    const serviceName = `of-${n}`;
    all.push({ ...(await mcpAgentOn(service, serviceName)), serviceName });
  }
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const url = service.running.url + MCP;
  const wrong: string[] = [];
  await Promise.all(all.map((caller) => callInTurn(caller, { agent, url, calls, wrong })));
  agent.destroy();
  return wrong.slice(0, 10);
}

async function callInTurn(
  { id: agentId, apiKey, serviceName }: Caller,
  { agent, url, calls, wrong }: { agent: Agent; url: string; calls: number; wrong: string[] },
): Promise<void> {
  for (let id = 0; id < calls; id++) {
    const [tool, own] = id % 3 === 0 ? ['whoami', agentId] : ['show_credential', serviceName];
    const { headers, body } = inEra(
      ERAS[id % 2] ?? ERAS[0],
      'tools/call',
      { name: tool, arguments: tool === 'whoami' ? {} : { service: serviceName } },
      id,
    );
    const standing = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` };
    const { status, text } = await postOver(
      agent,
      url,
      { ...standing, ...headers },
      Buffer.from(JSON.stringify(body)),
    );
    const { id: answered, result } = JSON.parse(text) as {
      id: unknown;
      result?: { structuredContent?: Content };
    };
    const content = result?.structuredContent;
    const isOwn = status === 200 && answered === id && (content?.id ?? content?.serviceName) === own;
    if (!isOwn) wrong.push(`${agentId} ${id} ${status} ${text.slice(0, 300)}`);
  }
}

interface Content {
  readonly id?: string;
  readonly serviceName?: string;
}
