import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type RequestListener, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { generate } from 'selfsigned';
import type { CommandLine } from '../command-line.ts';
import { type PairAndPeople, pairAndPeople } from '../pair-and-people.ts';

const IP_ADDRESS = 7;

export const SECRET = 'only-at-the-webhook-48213';

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
  /** What the API was asked with. */
  readonly authorizations: (string | undefined)[];
  /** For a program that a test starts itself. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const certificate = async () =>
  generate([{ name: 'commonName', value: 'test' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [{ type: IP_ADDRESS, ip: '127.0.0.1' }] },
    ],
  });

/** @param options.header the template of the credential. @param options.api what the API answers to who has it */
export async function coveredApi(options: {
  readonly header?: string;
  readonly expected?: string;
  readonly api: RequestListener;
}): Promise<CoveredApi> {
  const { header = 'Bearer ${TOKEN}', expected = `Bearer ${SECRET}`, api } = options;
  const { private: key, cert } = await certificate();
  // In this process it is the webhook that trusts it.
  setDefaultCACertificates([cert]);
  const authorizations: (string | undefined)[] = [];
  const servers: Server[] = [];
  const serve = async (pair: { key: string; cert: string }, listener: RequestListener): Promise<string> => {
    const server = createServer(pair, listener).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const origin = await serve({ key, cert }, (req, res) => {
    authorizations.push(req.headers.authorization);
    if (req.headers.authorization === expected) return api(req, res);
    res.writeHead(403).end('no credential');
  });
  const echo: RequestListener = (req, res) => void res.end(`outside: ${req.headers.authorization}`);
  const outside = await serve({ key, cert }, echo);
  const { private: otherKey, cert: otherCert } = await certificate();
  const impostor = await serve({ key: otherKey, cert: otherCert }, echo);

  const people = await pairAndPeople();
  const { host } = new URL(origin);
  const added = await people.admin.svault(['add', 'api', '--allow-host', host], { input: SECRET });
  if (added.code !== 0) throw new Error(added.err);
  const { length: before } = people.pair.recorded();
  const agent = await people.agent('runner');
  await people.pair.admin.call('POST', '/api/proxies', {
    ...{ name: 'api', kind: 'http', upstreamUrl: origin, serviceName: 'api', agentId: agent.id },
    headerTemplates: { authorization: header },
  });
  const trusted = join(agent.dir, 'trusted.pem');
  writeFileSync(trusted, cert);
  const variables = [
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'NODE_EXTRA_CA_CERTS',
  ];
  return {
    traffic: () => people.pair.recorded().subarray(before),
    ...{ people, agent, origin, trusted, outside, impostor, authorizations },
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
