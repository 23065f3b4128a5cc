import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { Pair } from '@svault/compose/pair';
import { generate } from 'selfsigned';
import type { Row } from '../report.ts';
import { type RoundOptions, median, rowOf } from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { HTTP_PROXY_PATH, makeHttpProxy } from './bench-proxies.ts';

const BUILD = fileURLToPath(new URL('../../../cli/scripts/build-package.ts', import.meta.url));
const HOST = '127.0.0.1';
const IP_ADDRESS = 7;
const CALLS = 100;
const STARTS = 3;
/** Prints the address of the local proxy and its certificate file, and waits for the end of its input. */
const PRINT_PROXY = 'printf "%s\\n%s\\n" "$HTTPS_PROXY" "$SSL_CERT_FILE"; cat';

/** An API over TLS. The webhook must be started with its certificate. */
export interface BenchApi {
  readonly origin: string;
  /** The file of its certificate. */
  readonly certificate: string;
  close(): void;
}

/** @param dir for the certificate */
export async function startBenchApi(dir: string): Promise<BenchApi> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'bench' }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: IP_ADDRESS, ip: HOST }] }],
  });
  mkdirSync(dir, { recursive: true });
  const certificate = join(dir, 'api.pem');
  writeFileSync(certificate, cert);
  const server = createServer({ key, cert }, (_, res) => void res.end('{"ok":true}')).listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { origin: `https://${HOST}:${port}`, certificate, close: () => void server.close() };
}

/**
 * The time of `svault run` around a command that does nothing, and what its proxy adds to a call on a kept connection: each
 * round measures calls straight to the control plane and through the proxy, in turn.
 */
export async function runRows(
  pair: Pair,
  { origin }: BenchApi,
  dir: string,
  { rounds }: RoundOptions,
): Promise<readonly Row[]> {
  const { agentKey, key } = await makeAgentWithProxy(pair, origin);
  const client = builtClient(dir);
  const env = {
    ...{ PATH: process.env['PATH'], HOME: dir, SVAULT_KEYCHAIN: 'off' },
    ...{ SVAULT_BASE_URL: pair.controlPlaneUrl, SVAULT_KEY: agentKey },
  };
  const startMs = (): number => {
    const begun = performance.now();
    const { status, stderr } = spawnSync(process.execPath, [client, 'run', '--', 'true'], {
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    return performance.now() - begun;
  };
  const starts = Array.from({ length: rounds + 1 }, () => median(Array.from({ length: STARTS }, startMs)));

  const running = spawn(process.execPath, [client, 'run', '--', 'sh', '-c', PRINT_PROXY], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const { proxyUrl, ca } = await printedProxy(running.stdout);
    const { host } = new URL(origin);
    const through = { agent: keeping(await tunnelled(proxyUrl, host, ca)), path: '/user', headers: {} };
    const { hostname, port } = new URL(pair.controlPlaneUrl);
    const straight = {
      ...{ agent: new Agent({ keepAlive: true, maxSockets: 1 }), host: hostname, port },
      ...{ path: `${HTTP_PROXY_PATH}/user`, headers: { authorization: `Bearer ${key}` } },
    };
    const added: number[] = [];
    const alone: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const [without, withRun] = [await callMs(straight), await callMs(through)];
      // The first warms up.
      if (round === 0) continue;
      alone.push(without);
      added.push(withRun - without);
    }
    return [
      rowOf('svault run -- true', TARGETS.runStart, starts.slice(1)),
      rowOf('call in svault run, added p50', TARGETS.runAdded, added, `alone ${median(alone).toFixed(2)} ms`),
    ];
  } finally {
    running.stdin.end();
    await once(running, 'exit');
  }
}

/** Builds the client as in its npm package. */
function builtClient(dir: string): string {
  const folder = join(dir, 'package');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const { status, stderr } = spawnSync(process.execPath, [BUILD, folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return join(folder, 'dist/bin.js');
}

async function makeAgentWithProxy(
  pair: Pair,
  upstreamUrl: string,
): Promise<{ agentKey: string; key: string }> {
  const { agent, apiKey: agentKey } = await pair.admin.call<{ agent: { id: string }; apiKey: string }>(
    ...(['POST', '/api/agents', { name: 'bench-run' }] as const),
  );
  return { agentKey, key: await makeHttpProxy(pair, upstreamUrl, agent.id) };
}

async function printedProxy(stdout: Readable): Promise<{ proxyUrl: string; ca: string }> {
  let text = '';
  while (text.split('\n').length < 3) {
    const [chunk] = (await once(stdout, 'data')) as [Buffer];
    text += chunk.toString();
  }
  const [proxyUrl = '', file = ''] = text.split('\n');
  return { proxyUrl, ca: readFileSync(file, 'utf8') };
}

/** Connects through the proxy as a program does. */
async function tunnelled(proxyUrl: string, authority: string, ca: string): Promise<Socket> {
  const { hostname, port, username, password } = new URL(proxyUrl);
  const credentials = Buffer.from(`${username}:${password}`).toString('base64');
  const headers = { 'proxy-authorization': `Basic ${credentials}` };
  const asked = request({ host: hostname, port, method: 'CONNECT', path: authority, headers }).end();
  const [, socket] = (await once(asked, 'connect')) as [IncomingMessage, Socket];
  const secure = connectTls({ socket, host: HOST, ca });
  await once(secure, 'secureConnect');
  return secure;
}

/** An HTTP agent that keeps one connection. */
const keeping = (socket: Socket): Agent =>
  Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), { createConnection: () => socket });

/** The median of calls one after another. */
async function callMs(options: RequestOptions): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < CALLS; count++) {
    const begun = performance.now();
    const [answer] = (await once(request(options).end(), 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    times.push(performance.now() - begun);
    if (answer.statusCode !== 200) throw new Error(`the call was answered ${answer.statusCode}`);
  }
  return median(times);
}
