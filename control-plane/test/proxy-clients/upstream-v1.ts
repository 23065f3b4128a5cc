import { randomUUID } from 'node:crypto';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CreateMessageResultSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { EventMemory, RESOURCES, contentTools, promptFor } from './content.ts';
import { type McpUpstream, startBehindGate } from './gate.ts';

/** The first SDK's own server: sessions, streams, and resumption of both. */
export function startUpstreamV1(credential: string): Promise<McpUpstream> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const tools = contentTools();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new EventMemory<JSONRPCMessage>(),
      retryInterval: 5,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await serverWith(tools).connect(transport);
    return transport;
  };
  return startBehindGate(credential, async (req, res) => {
    const id = req.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined)
      return res.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"no such session"}');
    return (known ?? (await open())).handleRequest(req, res);
  });
}

function serverWith(tools: ReturnType<typeof contentTools>): McpServer {
  const server = new McpServer(
    { name: 'upstream', version: '1.0.0', title: 'Its title' },
    { capabilities: { logging: {} }, instructions: 'Ask it anything.' },
  );
  for (const { name, input, output, run } of tools)
    server.registerTool(
      name,
      {
        description: `The tool ${name}`,
        inputSchema: input,
        ...(output !== undefined && { outputSchema: output }),
      },
      async (args: Record<string, unknown>, extra) =>
        run(args, {
          progressToken: extra._meta?.progressToken,
          signal: extra.signal,
          notify: (method, params) =>
            extra.sendNotification({ method, params } as Parameters<typeof extra.sendNotification>[0]),
          announce: (data) =>
            server.server.notification({ method: 'notifications/message', params: { level: 'info', data } }),
          ask: async (question) => {
            const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: question } }];
            const { content } = await extra.sendRequest(
              { method: 'sampling/createMessage', params: { messages, maxTokens: 10 } },
              CreateMessageResultSchema,
            );
            return JSON.stringify(content);
          },
          endStream: () => extra.closeSSEStream?.(),
        }),
    );
  for (const [uri, contents] of Object.entries(RESOURCES))
    server.registerResource(uri, uri, { mimeType: contents.mimeType }, () => ({ contents: [contents] }));
  server.registerResource(
    'note',
    new ResourceTemplate('note://{id}', { list: undefined }),
    { description: 'A note' },
    (uri, { id }) => ({ contents: [{ uri: uri.href, text: `note ${String(id)}` }] }),
  );
  server.registerPrompt('say', { description: 'Says', argsSchema: { topic: z.string() } }, ({ topic }) =>
    promptFor(topic),
  );
  return server;
}
