import { type Answer, clientOf } from '../support/management-service.ts';
import { type Era, MCP } from '../support/mcp-steps.ts';
import type { PairAgent } from '../support/pair-agents.ts';
import { type PairSession, sessionOn } from '../support/pair-sessions.ts';
import { type Message, posted, toolsCall } from './eras.ts';
import { limitedFor } from './mcp-answers.ts';
import { pipeline } from './pipeline.ts';
import { type Fixture, fixtureTest } from './fixture.ts';

/** A caller of the MCP endpoint. */
export interface McpCaller {
  send(message: Message): Promise<Answer>;
  /** `tools/call`. */
  call(tool: string, args?: Readonly<Record<string, unknown>>, id?: Message['id']): Promise<Answer>;
  /** A body as it is: a batch, or no message at all. */
  sendRaw(body: unknown): Promise<Answer>;
  /** The same message so many times, one behind the other; all are let through. */
  spend(count: number, message: Message): Promise<void>;
}

export interface McpAgent extends PairAgent {
  /** With its key. */
  readonly mcp: McpCaller;
}

/** A fixture whose MCP callers speak one revision of the protocol. */
export interface McpFixture extends Fixture {
  readonly era: Era;
  /** Without credentials, or with what is none. */
  caller(token?: string): McpCaller;
  /** MCP is on. */
  agent(...serviceNames: string[]): Promise<McpAgent>;
  agents(count: number, ...serviceNames: string[]): Promise<McpAgent[]>;
  /** What a client has that a person let act for an agent. */
  session(agent: PairAgent): Promise<PairSession>;
}

export function mcpFixture(base: Fixture, era: Era): McpFixture {
  const { pair, admin } = base;
  const url = pair.controlPlaneUrl();
  const caller = (token?: string): McpCaller => callerOf(url, era, token);
  const agent: McpFixture['agent'] = async (...serviceNames) => {
    const made = await base.agent(...serviceNames);
    await admin('PATCH', `/api/agents/${made.id}`, { body: { mcpEnabled: true } });
    return { ...made, mcp: caller(made.apiKey) };
  };
  return {
    ...base,
    era,
    caller,
    agent,
    agents: async (count, ...serviceNames) => {
      const made: McpAgent[] = [];
      while (made.length < count) made.push(await agent(...serviceNames));
      return made;
    },
    session: ({ id }) => sessionOn(pair, id),
  };
}

function callerOf(url: string, era: Era, token?: string): McpCaller {
  const anyone = clientOf(url);
  const send = (message: Message): Promise<Answer> => {
    const { headers, body } = posted(era, message, token);
    return anyone('POST', MCP, { body, headers });
  };
  return {
    send,
    call: (tool, args, id) => send(toolsCall(tool, args, id)),
    sendRaw: (body) => {
      const { headers } = posted(era, { method: 'ping' }, token);
      return anyone('POST', MCP, { body, headers });
    },
    spend: async (count, message) => {
      const statuses = await pipeline(
        url,
        Array.from({ length: count }, () => posted(era, message, token)),
      );
      const bad = statuses.filter((status) => status !== 200 && status !== 202);
      if (bad.length > 0) throw new Error(`${message.method} was answered ${bad.join(', ')}`);
    },
  };
}

/** Uses up the floor of a minute by `tools/call`. */
export const useFloorByCalls = ({ mcp }: McpAgent): Promise<void> =>
  mcp.spend(60, toolsCall('list_credentials', {}));

/** For windows: the seconds that a call is limited for, undefined where it is let through. */
export const hintOf = async (answer: Promise<Answer>, id?: Message['id']): Promise<number | undefined> =>
  limitedFor(await answer, id);

/** `test` with a fixture whose MCP callers speak one revision of the protocol. */
export const mcpTest = (era: Era) => fixtureTest.extend('fixture', ({ cleared }) => mcpFixture(cleared, era));
