/**
 * A webhook that can be bound and is then honest or hostile, by `POST /mode/honest` and `POST /mode/hostile`. It verifies
 * nothing: measured is the cost of its answers to the control plane. Argument: its port.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { sha256, toBase64url, toHex } from '@svault/shared';

const SECRET = randomBytes(32);
const HEALTH = {
  status: 'ok',
  protocol: 'v1',
  version: '0',
  webhookId: `whk_${toBase64url(randomBytes(16))}`,
  capabilities: ['storage', 'refresh-notify'],
};
const EXCHANGE = {
  webhookId: HEALTH.webhookId,
  keyId: 'k1',
  hmacSecret: toBase64url(SECRET),
  protocol: 'v1',
  capabilities: HEALTH.capabilities,
};
/** As much as answers to lists once were allowed to be, in the shape that costs most to read. */
const MEBIBYTES = 3.9;
const HOSTILE = Buffer.from(
  `{"results":[],"items":[${Array.from({ length: (MEBIBYTES * 1024 * 1024) / 3 }, () => '{}').join(',')}]}`,
);

let hostile = false;
let answered = 0;

createServer((req, res) => {
  const { url = '' } = req;
  const say = (answer: object, status = 200): void =>
    void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  let body = '';
  req.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  req.on('end', () => {
    if (url.startsWith('/mode/')) {
      hostile = url === '/mode/hostile';
      return say({ answered });
    }
    if (url === '/fingerprint') return say({ hmacHash: toHex(sha256(SECRET)) });
    if (url === '/v1/exchange') return say(EXCHANGE);
    if (url === '/v1/health') return say({ ...HEALTH, time: new Date().toISOString() });
    if (hostile) {
      answered += 1;
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(HOSTILE);
    }
    const { batch, events } = JSON.parse(body || '{}') as {
      batch?: { events?: object[] }[];
      events?: object[];
    };
    const one = (appended: readonly object[] | undefined): object => ({
      accepted: appended?.length ?? 0,
      items: [],
      head: { epoch: 'e', seq: 1, hash: 'h' },
    });
    say(batch === undefined ? one(events) : { results: batch.map((operation) => one(operation.events)) });
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
