import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type JSONRPCMessage,
  McpServer,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isLegacyRequest,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { EventMemory, RESOURCES, contentTools, promptFor } from './content.ts';
import { type McpUpstream, startBehindGate } from './gate.ts';

/** The second SDK's own server: sessions for those who speak the revisions of 2025, none for that of 2026. */
export function startUpstreamV2(credential: string): Promise<McpUpstream> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const tools = contentTools();
  const modern = createMcpHandler(() => serverWith(tools), { legacy: 'reject' });
  const open = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new EventMemory<JSONRPCMessage>(),
      retryInterval: 5,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await serverWith(tools).connect(transport);
    return transport;
  };
  const answer = async (request: Request): Promise<Response> => {
    if (!(await isLegacyRequest(request.clone()))) return modern.fetch(request);
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : sessions.get(id);
    if (id !== null && known === undefined)
      return Response.json({ error: 'no such session' }, { status: 404 });
    return (known ?? (await open())).handleRequest(request);
  };
  return startBehindGate(
    credential,
    (req, res) => serveWeb(req, res, answer),
    () => modern.close(),
  );
}

async function serveWeb(
  req: IncomingMessage,
  res: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const { method = 'GET' } = req;
  const request = new Request(`http://${req.headers.host}${req.url}`, {
    method,
    headers: new Headers(Object.entries(req.headers).map(([name, value]) => [name, String(value)])),
    signal: gone.signal,
    ...(method === 'POST' && { body: Readable.toWeb(req) as ReadableStream<Uint8Array>, duplex: 'half' }),
  });
  const response = await answer(request);
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.flushHeaders();
  if (response.body === null) res.end();
  else await pipeline(Readable.fromWeb(response.body), res).catch(() => res.destroy());
}

function serverWith(tools: ReturnType<typeof contentTools>): McpServer {
  const server = new McpServer(
    { name: 'upstream', version: '2.0.0', title: 'Its title' },
    { capabilities: { logging: {} }, instructions: 'Ask it anything.' },
  );
  for (const { name, input, output, run } of tools)
    server.registerTool(
      name,
      {
        description: `The tool ${name}`,
        inputSchema: z.object(input),
        ...(output !== undefined && { outputSchema: z.object(output) }),
      },
      async (args: Record<string, unknown>, { mcpReq, http }) =>
        run(args, {
          progressToken: mcpReq._meta?.progressToken,
          signal: mcpReq.signal,
          notify: (method, params) => mcpReq.notify({ method, params }),
          announce: (data) =>
            server.server.notification({ method: 'notifications/message', params: { level: 'info', data } }),
          ask: async (question) => {
            const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: question } }];
            const { content } = await mcpReq.send({
              method: 'sampling/createMessage',
              params: { messages, maxTokens: 10 },
            });
            return JSON.stringify(content);
          },
          endStream: () => http?.closeSSE?.(),
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
  server.registerPrompt(
    'say',
    { description: 'Says', argsSchema: z.object({ topic: z.string() }) },
    ({ topic }) => promptFor(topic),
  );
  return server;
}
