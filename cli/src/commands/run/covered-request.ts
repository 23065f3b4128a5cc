import { Agent, type IncomingMessage, type ServerResponse, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { type CoveredHost, authorityOf, routeOf, schemeOf } from './covered-hosts.ts';
import { withValues, withoutHopByHop } from './field-lines.ts';
import { type Refusal, REASONS, sendRefusal } from './refusal.ts';
import { sendOn, sentOn } from './send-on.ts';
import type { Tally } from './tally.ts';

const MAX_SOCKETS = 256;
const PROXY_PATH = '/api/proxy/http';

/** Fields that the control plane does not accept from the command: the key of the proxy replaces them. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'x-mcp-key',
  'x-agent-key',
  'expect',
  'cookie',
]);
/** Fields of answers that name the proxy's address, which the command does not know. */
const ADDRESSES: ReadonlySet<string> = new Set(['location', 'content-location', 'link']);

/** Sends the requests for covered hosts to the control plane, each with the key of its proxy. */
export interface CoveredRequests {
  send(host: CoveredHost, req: IncomingMessage, res: ServerResponse): void;
  close(): void;
}

/** @param options.baseUrl of the control plane */
export function createCoveredRequests(options: {
  readonly baseUrl: string;
  readonly tally: Tally;
}): CoveredRequests {
  const { tally } = options;
  const base = new URL(options.baseUrl);
  const isSecure = schemeOf(base) === 'https';
  const agent = new (isSecure ? TlsAgent : Agent)({ keepAlive: true, maxSockets: MAX_SOCKETS });
  const { hostname, port } = authorityOf(base);
  const root = base.pathname.replace(/\/+$/, '') + PROXY_PATH;

  return {
    send: (host, req, res) => {
      const refuse = (refusal: Refusal): void => {
        tally.refused(host.hostname, REASONS[refusal.code]);
        sendRefusal(res, refusal);
      };
      const { url: target = '', headers: sent } = req;
      // A client that offers HTTP/2 on the same connection continues without it (RFC 9110 section 7.8).
      if (sent.upgrade !== undefined && !/^h2c$/i.test(sent.upgrade)) return refuse(UPGRADE_NOT_SUPPORTED);
      const route = routeOf(host, target);
      if (route === undefined) return refuse(pathNotCovered(host));
      tally.called(host.hostname, route.serviceName ?? route.name);
      const headers = ['Host', base.host, 'Authorization', `Bearer ${route.key}`, ...sentOn(req, NOT_SENT)];
      sendOn(req, res, {
        open: isSecure ? tlsRequest : request,
        options: { agent, host: hostname, port, path: root + target.slice(route.path.length) },
        headers,
        answered: (answer) => {
          noteDenial(answer, host, tally);
          return withValues(withoutHopByHop(answer.rawHeaders), ADDRESSES, (value) =>
            value.replaceAll(route.address, route.base),
          );
        },
        failed: () => refuse(controlPlaneUnreachable(base.host)),
      });
    },
    close: () => agent.destroy(),
  };
}

const UPGRADE_NOT_SUPPORTED: Refusal = {
  status: 501,
  code: 'UPGRADE_NOT_SUPPORTED',
  error: 'An HTTP proxy of svault takes no upgrade, such as to WebSocket.',
};

const controlPlaneUnreachable = (host: string): Refusal => ({
  status: 502,
  code: 'CONTROL_PLANE_UNREACHABLE',
  error: `The control plane at ${host} cannot be reached. Run svault whoami to see why.`,
});

const pathNotCovered = ({ routes }: CoveredHost): Refusal => ({
  status: 403,
  code: 'PATH_NOT_COVERED',
  error: `No proxy of this run covers this path, only what is below ${routes.map(({ base }) => base).join(', ')}. Run svault proxies create --kind http for another one.`,
});

const MAX_DENIAL_BYTES = 16 * 1024;

/** Counts a denial by svault. Its body repeats the request id of the header, which no upstream can know in advance. */
function noteDenial(answer: IncomingMessage, { hostname }: CoveredHost, tally: Tally): void {
  const { statusCode = 0, headers } = answer;
  const requestId = headers['x-request-id'];
  if (statusCode < 400 || requestId === undefined || !/json/.test(headers['content-type'] ?? '')) return;
  const chunks: Buffer[] = [];
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_DENIAL_BYTES) chunks.push(chunk);
  });
  answer.once('end', () => {
    const text = Buffer.concat(chunks).toString();
    const code = /"code":"([A-Z_]{3,64})"/.exec(text)?.[1];
    if (code !== undefined && text.includes(`"requestId":"${String(requestId)}"`))
      tally.refused(hostname, `${code} (svault explain ${code})`);
  });
}
