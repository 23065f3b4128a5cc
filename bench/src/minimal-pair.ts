/**
 * What the two hops of a proxied call cost at least: two plain programs with the requests, the MACs and the durable rows of
 * svault, and nothing else. `node minimal-pair.ts front|back PORT NEXT FILE`: the front takes agents' calls and sends them, signed and
 * with a ticket, to the back at NEXT; the back verifies both and calls the upstream at NEXT with a credential injected.
 * It shares no code with svault: a yardstick does not change with what it measures.
 */
import { createHash, createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'undici';

const [, , side, port, next = '', file = ''] = process.argv;
const { MINIMAL_AGENT_KEY: agentKey = '', MINIMAL_HMAC_KEY: hmacKey = '' } = process.env;
const LIFETIME_SECONDS = 60;
const CREDENTIAL = randomBytes(32).toString('base64url');

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();
const key = createSecretKey(sha256(hmacKey));
const macOf = (text: string): Buffer => createHmac('sha256', key).update(text).digest();
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const digestOf = (body: Buffer): string => `sha-256=:${sha256(body).toString('base64')}:`;
const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const isMac = (mac: Buffer, text: string): boolean => {
  const expected = macOf(text);
  return mac.length === expected.length && timingSafeEqual(mac, expected);
};

const db = new DatabaseSync(file);
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
db.exec('CREATE TABLE log (id TEXT PRIMARY KEY, event TEXT NOT NULL) STRICT');
const insert = db.prepare('INSERT INTO log (id, event) VALUES (?, ?)');
let group: { readonly id: string; readonly event: string; readonly done: () => void }[] = [];

/** One transaction, and one sync of the disk, for all rows of a turn of the event loop. An id is taken once. */
function commit(id: string, event: object): Promise<void> {
  return new Promise((done) => {
    group.push({ id, event: JSON.stringify(event), done });
    if (group.length === 1) setImmediate(flush);
  });
}

function flush(): void {
  const rows = group;
  group = [];
  db.exec('BEGIN IMMEDIATE');
  for (const { id, event } of rows) insert.run(id, event);
  db.exec('COMMIT');
  for (const { done } of rows) done();
}

function bodyOf(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)));
  });
}

const pool = new Pool(next, { connections: 64, pipelining: 1 });

async function forward(
  res: ServerResponse,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<void> {
  await pool.stream({ path, method: 'POST', headers, body }, ({ statusCode, headers: fields }) => {
    const { 'content-type': type, 'content-length': length } = fields;
    return res.writeHead(statusCode, { 'content-type': String(type), 'content-length': String(length) });
  });
}

const TICKET_HEADER = base64url({ alg: 'HS256', typ: 'sv-ticket+jwt', kid: 'k1' });
const COVERED = ['@method', '@authority', '@path', '@query', 'content-type', 'content-digest', 'sv-ticket'];
const COMPONENTS = COVERED.map((name) => `"${name}"`).join(' ');

/** RFC 9421, of the components that svault covers. */
function signatureBase(fields: { type: string; digest: string; ticket: string }, params: string): string {
  const values = ['POST', 'minimal.example', '/v1/proxy', '?', fields.type, fields.digest, fields.ticket];
  const lines = COVERED.map((name, at) => `"${name}": ${values[at]}`);
  return `${lines.join('\n')}\n"@signature-params": ${params}`;
}

const agentKeyHash = sha256(`Bearer ${agentKey}`);

async function front(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await bodyOf(req);
  if (!timingSafeEqual(sha256(req.headers.authorization ?? ''), agentKeyHash)) return refuse(res);
  const jti = randomBytes(16).toString('base64url');
  const about = { sub: 'prx_minimal', op: 'proxy', svc: 'minimal-upstream', jti, htm: 'POST' };
  await commit(jti, { eventType: 'PROXY_ACCESS', outcome: 'success', ...about });
  const iat = nowSeconds();
  const claims = { iss: 'https://front', aud: 'whk_minimal', ...about, iat, exp: iat + LIFETIME_SECONDS };
  const signed = `${TICKET_HEADER}.${base64url(claims)}`;
  const ticket = `${signed}.${macOf(signed).toString('base64url')}`;
  const type = req.headers['content-type'] ?? 'application/octet-stream';
  const digest = digestOf(body);
  const nonce = randomBytes(16).toString('base64url');
  const params = `(${COMPONENTS});created=${iat};expires=${iat + LIFETIME_SECONDS};nonce="${nonce}";keyid="k1";alg="hmac-sha256";tag="sv-webhook-v1"`;
  const signature = macOf(signatureBase({ type, digest, ticket }, params)).toString('base64');
  const headers = {
    'content-type': type,
    'content-digest': digest,
    'sv-ticket': ticket,
    'signature-input': `sv=${params}`,
    signature: `sv=:${signature}:`,
  };
  await forward(res, '/v1/proxy', headers, body);
}

async function back(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await bodyOf(req);
  const field = (name: string): string => String(req.headers[name] ?? '');
  const [type, digest, ticket] = [field('content-type'), field('content-digest'), field('sv-ticket')];
  const params = field('signature-input').slice('sv='.length);
  const mac = Buffer.from(field('signature').slice('sv=:'.length, -1), 'base64');
  const [, expires = '0', nonce = ''] = /;expires=(\d+);nonce="([\w-]{22})"/.exec(params) ?? [];
  const [header = '', payload = '', ticketMac = ''] = ticket.split('.');
  const isAuthentic =
    digest === digestOf(body) &&
    isMac(mac, signatureBase({ type, digest, ticket }, params)) &&
    isMac(Buffer.from(ticketMac, 'base64url'), `${header}.${payload}`);
  if (!isAuthentic) return refuse(res);
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  const now = nowSeconds();
  if (Number(expires) < now || Number(claims['exp']) < now || claims['op'] !== 'proxy') return refuse(res);
  const { sub, svc, jti } = claims;
  await commit(nonce, { eventType: 'CREDENTIAL_INJECTED', outcome: 'success', sub, svc, jti });
  await forward(res, '/', { 'content-type': type, authorization: `Bearer ${CREDENTIAL}` }, body);
}

const refuse = (res: ServerResponse): void => void res.writeHead(401, { 'content-length': 0 }).end();

const handle = side === 'front' ? front : back;
createServer((req, res) => {
  // What is awaited until the program is up.
  if (req.method === 'GET') res.end();
  else void handle(req, res);
}).listen(Number(port), '127.0.0.1');
