import { createDecipheriv, createECDH, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

/* Receivers of notifications, which know of RFC 9421, RFC 8291 and SMTP what their standards say, and nothing from us. */

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface HttpReceiver {
  /** `http://127.0.0.1:…` */
  readonly origin: string;
  readonly received: Received[];
  /** How it answers; 200 unless given. */
  answer: (res: ServerResponse, path: string) => void;
  stop(): Promise<void>;
}

export async function startHttpReceiver(): Promise<HttpReceiver> {
  const received: Received[] = [];
  const server = createServer((req, res) => {
    const { method = '', url: path = '', headers } = req;
    void buffer(req).then((body) => {
      received.push({ method, path, headers, body });
      receiver.answer(res, path);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: HttpReceiver = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: (res) => void res.end('thank you'),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

/** Whether a request is signed with this key (RFC 9421 section 3.2), and its body is what its digest says (RFC 9530). */
export function isSignedBy(
  { method, path, headers, body }: Received,
  key: { readonly id: string; readonly secret: string },
): boolean {
  const input = String(headers['signature-input']);
  const [, label = '', parameters = '', names = ''] = /^(\w+)=(\(([^)]*)\).*)$/.exec(input) ?? [];
  const [pathname = '', query] = path.split('?');
  const derived: Record<string, string> = {
    '@method': method,
    '@authority': String(headers.host),
    '@path': pathname,
    '@query': `?${query ?? ''}`,
  };
  const covered = names.split(' ').map((name) => name.slice(1, -1));
  const lines = covered.map((name) => `"${name}": ${derived[name] ?? String(headers[name])}`);
  const base = [...lines, `"@signature-params": ${parameters}`].join('\n');
  const mac = createHmac('sha256', Buffer.from(key.secret, 'base64url')).update(base).digest('base64');
  const digest = createHash('sha256').update(body).digest('base64');
  return (
    headers['signature'] === `${label}=:${mac}:` &&
    parameters.includes(`;keyid="${key.id}"`) &&
    ['@method', '@authority', '@path', '@query', 'content-digest'].every((name) => covered.includes(name)) &&
    headers['content-digest'] === `sha-256=:${digest}:`
  );
}

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** As it came, with its header. */
  readonly text: string;
}

export interface MailServer {
  /** With user and password. */
  readonly url: string;
  readonly received: Mail[];
  stop(): Promise<void>;
}

export async function startMailServer(user: string, password: string): Promise<MailServer> {
  const received: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authMethods: ['PLAIN'],
    allowInsecureAuth: true,
    onAuth: (auth, _session, done) => {
      const isRight = auth.username === user && auth.password === password;
      done(isRight ? null : new Error('no'), isRight ? { user } : undefined);
    },
    onRcptTo: ({ address }, _session, done) =>
      done(
        address.startsWith('nobody@') ? Object.assign(new Error('no such box'), { responseCode: 550 }) : null,
      ),
    onData: (stream, { envelope: { mailFrom, rcptTo } }, done) => {
      let message = '';
      stream.setEncoding('utf8').on('data', (part: string) => (message += part));
      stream.on('end', () => {
        const from = mailFrom === false ? '' : mailFrom.address;
        received.push({ from, to: rcptTo.map(({ address }) => address), text: message });
        done();
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  return {
    url: `smtp://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    received,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** A browser's part of a subscription. */
export function makeBrowser() {
  const curve = createECDH('prime256v1');
  const point = curve.generateKeys();
  const auth = randomBytes(16);
  return {
    keys: { p256dh: point.toString('base64url'), auth: auth.toString('base64url') },
    /** RFC 8291 section 3.4 and RFC 8188 section 2: one record, padded. */
    decrypt: (body: Buffer): string => {
      const [salt, sender] = [body.subarray(0, 16), body.subarray(21, 21 + (body[20] ?? 0))];
      const sealed = body.subarray(21 + sender.length);
      const derive = (secret: Uint8Array, by: Uint8Array, info: Uint8Array, bytes: number) =>
        Buffer.from(hkdfSync('sha256', secret, by, info, bytes));
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), point, sender]);
      const secret = derive(curve.computeSecret(sender), auth, info, 32);
      const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
      const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
      const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(sealed.subarray(-16));
      const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
      return padded.subarray(0, padded.lastIndexOf(2)).toString('utf8');
    },
  };
}
