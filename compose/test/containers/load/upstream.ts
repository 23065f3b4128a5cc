import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { text } from 'node:stream/consumers';

// An MCP server of the owner that remembers what it was sent. Runs in a container, from this file alone.

/** What `GET /seen` answers. */
export interface Seen {
  /** How often it was sent a call, by the call's id. */
  readonly calls: Readonly<Record<string, number>>;
  /** Every `Authorization` that came, once. */
  readonly authorizations: readonly string[];
}

const BEAT_MS = 100;
const calls = new Map<string, number>();
const authorizations = new Set<string>();

async function answer(req: IncomingMessage, res: ServerResponse): Promise<unknown> {
  const body = await text(req);
  if (req.url === '/seen') return res.end(JSON.stringify(seen()));
  authorizations.add(req.headers.authorization ?? '');
  if (req.method === 'GET') return stream(res);
  const { id, method } = JSON.parse(body) as { id: string; method: string };
  calls.set(id, (calls.get(id) ?? 0) + 1);
  if (method === 'stream') return stream(res);
  return res
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, result: { said: id } }));
}

const seen = (): Seen => ({ calls: Object.fromEntries(calls), authorizations: [...authorizations] });

/** Events for as long as somebody listens. */
function stream(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const beat = (): void => {
    res.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n');
  };
  beat();
  const beats = setInterval(beat, BEAT_MS);
  res.once('close', () => clearInterval(beats));
}

// It closes no idle connection in the moment in which the webhook sends a call on it: nobody may send that again.
createServer({ keepAliveTimeout: 600_000 }, (req, res) => void answer(req, res)).listen(8080);
