import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { generate } from 'selfsigned';

const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** An https site on loopback with client metadata documents, whose certificate this process trusts. */
export interface DocumentHost {
  /** `https://localhost:…` */
  readonly origin: string;
  readonly port: number;
  /** Requested paths in order. */
  readonly asked: string[];
  connections(): number;
  /** The document or the handler of each path. */
  readonly paths: Map<string, RequestListener | object>;
  stop(): Promise<void>;
}

export async function startDocumentHost(): Promise<DocumentHost> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: DNS_NAME, value: 'localhost' },
          { type: IP_ADDRESS, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, cert]);
  const asked: string[] = [];
  const paths: DocumentHost['paths'] = new Map();
  let connections = 0;
  const server = createServer({ key, cert }, (req, res) => {
    const path = req.url ?? '';
    asked.push(path);
    const answer = paths.get(path);
    if (typeof answer === 'function') (answer as RequestListener)(req, res);
    else if (answer === undefined) res.writeHead(404).end();
    else sendDocument(res, answer);
  });
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://localhost:${port}`,
    port,
    asked,
    connections: () => connections,
    paths,
    stop: async () => {
      setDefaultCACertificates(trusted);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const sendDocument = (
  res: ServerResponse,
  document: object,
  headers: Readonly<Record<string, string>> = {},
): void =>
  void res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document));
