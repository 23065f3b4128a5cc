import { type Era, MCP, inEra } from '../support/mcp-steps.ts';
import type { PipelinedRequest } from './pipeline.ts';

export interface Message {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** `null`: none, a notification. */
  readonly id?: string | number | null;
}

/** With which the clients of an era begin; each is exempt from the floor. */
export const HANDSHAKES: Readonly<Record<Era, readonly [Message, Message, Message]>> = {
  '2025-11-25': [
    {
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'a test', version: '1' },
      },
    },
    { method: 'notifications/initialized', id: null },
    { method: 'tools/list' },
  ],
  '2026-07-28': [
    { method: 'server/discover' },
    { method: 'notifications/cancelled', params: { requestId: 7 }, id: null },
    { method: 'tools/list' },
  ],
};

/** A message with everything that an era puts around it. */
export const inFull = (era: Era, { method, params, id = 1 }: Message): ReturnType<typeof inEra> =>
  inEra(era, method, params, id ?? undefined);

/** A message as it is sent. @param token an agent's key or a session's token; undefined: none is shown */
export function posted(
  era: Era,
  message: Message,
  token?: string,
): PipelinedRequest & { readonly headers: Readonly<Record<string, string>> } {
  const { headers, body } = inFull(era, message);
  return {
    method: 'POST',
    path: MCP,
    headers: {
      accept: 'application/json, text/event-stream',
      ...headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body,
  };
}

export const toolsCall = (
  name: string,
  args?: Readonly<Record<string, unknown>>,
  id?: Message['id'],
): Message => ({
  method: 'tools/call',
  params: { name, ...(args !== undefined && { arguments: args }) },
  ...(id !== undefined && { id }),
});
