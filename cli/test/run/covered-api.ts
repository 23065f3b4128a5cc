import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  RequestListener,
  Server,
  ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { freePort } from '@svault/compose/free-port';
import { generate } from 'selfsigned';
import type { CommandLine } from '../command-line.ts';
import { type PairAndPeople, pairAndPeople } from '../pair-and-people.ts';

/** Kinds of names in a certificate (RFC 5280 4.2.1.6). */
const [DNS_NAME, IP_ADDRESS] = [2, 7] as const;

/** In no other process, so that it can be searched for. */
export const SECRET = `only-at-the-webhook-${randomUUID()}`;

/** A real pair, an API over TLS that wants a credential which the pair adds, and an agent whose proxy covers it. */
export interface CoveredApi {
  readonly people: PairAndPeople;
  readonly agent: CommandLine & { readonly id: string; readonly key: string };
  /** `https://127.0.0.1:…` */
  readonly origin: string;
  /** File of the certificate that the API and `outside` have. */
  readonly trusted: string;
  /** Another server with that certificate, which no proxy covers. */
  readonly outside: string;
  /** A server with a certificate that nobody trusts. */
  readonly impostor: string;
  /** All bytes between control plane and webhook since the secret was stored. */
  readonly traffic: () => Buffer;
  /** Base URL of the proxy, `http://127.0.0.1:…/api/proxy/http`, and its key. */
  readonly base: string;
  readonly key: string;
  /** What the API was asked with. */
  readonly authorizations: (string | undefined)[];
  /** Request lines and fields of all that the API was asked. */
  readonly heads: string[];
  /** For a program that a test starts itself. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const certificate = async () =>
  generate([{ name: 'commonName', value: 'test' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: IP_ADDRESS, ip: '127.0.0.1' },
          { type: IP_ADDRESS, ip: '0.0.0.0' },
          { type: DNS_NAME, value: 'localhost' },
        ],
      },
    ],
  });

interface CoveredApiOptions {
  /** Stored at the webhook. */
  readonly secret?: string;
  /** Field of the credential and its template. */
  readonly header?: readonly [name: string, template: string];
  /** Whether a request has the credential; it is in `authorization` as Bearer unless said otherwise. */
  readonly isAuthorized?: (headers: IncomingHttpHeaders) => boolean;
  /** Further settings of the proxy; with a signature there is no field. */
  readonly proxy?: {
    readonly upstreamAuthType: 'aws_sigv4';
    readonly region: string;
    readonly service: string;
  };
  /** How the API is addressed: as 0.0.0.0 for programs in Go, which call no loopback address through a proxy. */
  readonly hostname?: '127.0.0.1' | '0.0.0.0' | 'localhost';
  /** What the API answers to who has the credential. */
  readonly api: (req: IncomingMessage, res: ServerResponse) => unknown;
}

export async function coveredApi(options: CoveredApiOptions): Promise<CoveredApi> {
  const { secret = SECRET, header = ['authorization', 'Bearer ${TOKEN}'], proxy, api } = options;
  const {
    hostname = '127.0.0.1',
    isAuthorized = ({ authorization }) => authorization === `Bearer ${SECRET}`,
  } = options;
  const { private: key, cert } = await certificate();
  // In this process it is the webhook that trusts it.
  setDefaultCACertificates([cert]);
  const authorizations: (string | undefined)[] = [];
  const heads: string[] = [];
  const servers: Server[] = [];
  const serve = async (pair: { key: string; cert: string }, listener: RequestListener): Promise<string> => {
    const server = createServer(pair, listener).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return `https://${hostname}:${(server.address() as AddressInfo).port}`;
  };
  const origin = await serve({ key, cert }, (req, res) => {
    authorizations.push(req.headers.authorization);
    heads.push([req.method, req.url, ...req.rawHeaders].join('\n'));
    if (isAuthorized(req.headers)) return api(req, res);
    res.writeHead(403).end('no credential');
  });
  const echo: RequestListener = (req, res) => void res.end(`outside: ${req.headers.authorization}`);
  const outside = await serve({ key, cert }, echo);
  const { private: otherKey, cert: otherCert } = await certificate();
  const impostor = await serve({ key: otherKey, cert: otherCert }, echo);

  // Addresses of the API in fields of its answers become the public address of the proxy.
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const people = await pairAndPeople({
    logLevel: 'trace',
    env: {
      SV_LISTEN: `127.0.0.1:${port}`,
      SV_BASE_URL: publicUrl,
      SV_WEBHOOK_SERVICE_URL: publicUrl,
      SV_EGRESS_ALLOW: '127.0.0.0/8,0.0.0.0/32',
    },
  });
  const { host } = new URL(origin);
  const record = ['--type', proxy === undefined ? 'PlainText' : 'RawCredential', '--allow-host', host];
  const added = await people.admin.svault(['add', 'api', ...record, '--allow-header', header[0]], {
    input: secret,
  });
  if (added.code !== 0) throw new Error(added.err);
  const { length: before } = people.pair.recorded();
  const agent = await people.agent('runner');
  const made = await people.pair.admin.call<{ key: string }>('POST', '/api/proxies', {
    ...{ name: 'api', kind: 'http', upstreamUrl: origin, serviceName: 'api', agentId: agent.id },
    ...(proxy ?? { headerTemplates: { [header[0]]: header[1] } }),
  });
  const trusted = join(agent.dir, 'trusted.pem');
  writeFileSync(trusted, cert);
  const variables = [
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'NODE_EXTRA_CA_CERTS',
    'AWS_CA_BUNDLE',
  ];
  return {
    traffic: () => people.pair.recorded().subarray(before),
    base: `${publicUrl}/api/proxy/http`,
    key: made.key,
    ...{ people, agent, origin, trusted, outside, impostor, authorizations, heads },
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: agent.dir,
      SVAULT_CONFIG_DIR: agent.dir,
      SVAULT_KEYCHAIN: 'off',
      SVAULT_BASE_URL: people.pair.controlPlaneUrl(),
      SVAULT_KEY: agent.key,
      ...Object.fromEntries(variables.map((name) => [name, trusted])),
    },
    close: async () => {
      await people.close();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}
