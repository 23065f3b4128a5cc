import { readFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

// Something else at the webhook's address that is healthy, answers everything else with garbage, and counts what it is sent.
// Runs in a container, from this file alone; the certificate is what the settings name.

const asked = new Map<string, number>();
const options = {
  cert: readFileSync(process.env['CERT'] ?? ''),
  key: readFileSync(process.env['KEY'] ?? ''),
};
const garbage = (req: IncomingMessage, res: ServerResponse): void => {
  const what = `${req.method} ${(req.url ?? '').split('?')[0]}`;
  asked.set(what, (asked.get(what) ?? 0) + 1);
  req.resume();
  res
    .writeHead(200, { 'content-type': 'application/json' })
    .end(what === 'GET /v1/health' ? '{"status":"ok"}' : '{"garbage":[');
};
createTlsServer(options, garbage).listen(443);
// Behind a proxy that terminates TLS.
createServer(garbage).listen(8090);
// What it was asked, by method and path.
createServer((_, res) => res.end(JSON.stringify(Object.fromEntries(asked)))).listen(8080);
