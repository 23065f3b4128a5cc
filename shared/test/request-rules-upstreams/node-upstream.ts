import { type IncomingMessage, type Server, createServer } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { isObject } from '@svault/shared';
import type { Reading, Upstream } from './reading.ts';

type Report = (reading: Reading) => void;

/** Reads requests as Node's server does, each from its own pair of streams in place of a socket. */
export function startNodeUpstream(): Upstream {
  const reports = new WeakMap<Duplex, Report>();
  const server = createServer((request, response) => {
    void readingOf(request).then((reading) => {
      reports.get(request.socket)?.(reading);
      response.end();
    });
  });
  server.on('clientError', (_error, connection: Duplex) => {
    connection.destroy();
  });
  return {
    read: async (requests) => {
      const readings: Reading[] = [];
      for (const raw of requests) readings.push(await readOne(server, reports, raw));
      return readings;
    },
    stop: async () => {
      server.close();
    },
  };
}

async function readOne(server: Server, reports: WeakMap<Duplex, Report>, raw: Buffer): Promise<Reading> {
  const [ours, theirs] = duplexPair();
  try {
    return await new Promise((resolve) => {
      reports.set(theirs, resolve);
      theirs.once('close', () => {
        resolve('refused');
      });
      server.emit('connection', theirs);
      ours.resume();
      ours.write(raw);
    });
  } finally {
    ours.destroy();
    theirs.destroy();
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function readingOf(request: IncomingMessage): Promise<Reading> {
  try {
    const body = await bodyOf(request);
    const { headers, method = '', url: target = '' } = request;
    const url = new URL(String(headers['x-original-url'] ?? target), 'https://api.example');
    const type = headers['content-type']?.toLowerCase() ?? '';
    const fields = new URLSearchParams(url.search);
    if (method === 'POST' && type.includes('urlencoded'))
      for (const [name, value] of new URLSearchParams(body.toString())) fields.append(name, value);
    const named = headers['x-http-method-override'] ?? fields.get('_method');
    const isMessage = method === 'POST' && type.startsWith('application/json');
    const call = isMessage ? callOf(JSON.parse(body.toString())) : [null, null, null, null];
    return [named === null ? method : String(named).toUpperCase(), decodeURIComponent(url.pathname), ...call];
  } catch {
    return 'refused';
  }
}

function callOf(message: unknown): unknown[] {
  const { method, params } = isObject(message) ? message : {};
  if (method !== 'tools/call') return [method ?? null, null, null, null];
  const { name, arguments: given } = isObject(params) ? params : {};
  const { repo, number } = isObject(given) ? given : {};
  return [method, name, repo, typeof number === 'number' ? String(number) : number].map(
    (value) => value ?? null,
  );
}
