/**
 * What proxied calls go to. `node proxy-upstream.ts PORT`: a POST is answered by a short JSON-RPC result, `/megabyte` by
 * 1 MB, `/download` by 100 MB in chunks, `/events?n=N` by N events at an even pace, each with the moment it was sent,
 * `/tools?n=N` by a list of N tools, `/standing` by a stream on which nothing happens.
 */
import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

const RESULT = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [] } }));
const MEGABYTE = Buffer.alloc(1_000_000, 'x');
const DOWNLOAD_MEGABYTES = 100;
const EVENT_PAUSE_MS = 2;

/** Of some 300 kB where there are 500. */
const listOfTools = (count: number): Buffer => {
  const properties = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`p${at}`, { type: 'string' }]));
  const inputSchema = { type: 'object', properties };
  const tools = Array.from({ length: count }, (_, at) => ({
    name: `tool_${at}`,
    description: 'what it does '.repeat(20),
    inputSchema,
  }));
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } }));
};

const answer = (res: ServerResponse, type: string, body: Buffer): void => {
  res.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body);
};

function sendEvents(res: ServerResponse, count: number): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  const timer = setInterval(() => {
    res.write(`data: ${process.hrtime.bigint()}\n\n`);
    sent++;
    if (sent < count) return;
    clearInterval(timer);
    res.end();
  }, EVENT_PAUSE_MS);
  res.once('close', () => clearInterval(timer));
}

createServer((req, res) => {
  req.resume();
  req.once('end', () => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://127.0.0.1');
    if (pathname === '/standing') res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    else if (pathname === '/events') sendEvents(res, Number(searchParams.get('n')));
    else if (pathname === '/tools')
      answer(res, 'application/json', listOfTools(Number(searchParams.get('n'))));
    else if (pathname === '/download')
      Readable.from(Array.from({ length: DOWNLOAD_MEGABYTES }, () => MEGABYTE)).pipe(
        res.writeHead(200, { 'content-type': 'application/octet-stream' }),
      );
    else if (pathname === '/megabyte') answer(res, 'application/octet-stream', MEGABYTE);
    else answer(res, 'application/json', RESULT);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
