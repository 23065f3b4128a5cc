import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { LOAD_CORE, SERVER_CORE } from '../machine.ts';
import { inTurn, requestBytes } from '../requests.ts';
import type { Contender } from '../rounds.ts';
import { startOwnServer } from '../server-process.ts';

const BARE_EXPRESS = new URL('../bare-express.ts', import.meta.url);
const UPSTREAM = new URL('../proxy-upstream.ts', import.meta.url);
const MINIMAL_PAIR = new URL('../minimal-pair.ts', import.meta.url);

/** A bare Express server. */
export async function startBareExpress(name: string, started: AsyncDisposableStack): Promise<Contender> {
  const { url, pid, stop } = await startOwnServer(BARE_EXPRESS, SERVER_CORE);
  started.defer(stop);
  return { name, url, pid, expectedStatus: 200, prepare: () => inTurn([requestBytes(url, '/')]) };
}

/** What proxied calls go to. @returns its address */
export async function startUpstream(started: AsyncDisposableStack): Promise<string> {
  const { url, stop } = await startOwnServer(UPSTREAM, LOAD_CORE);
  started.defer(stop);
  return url;
}

/**
 * The minimal pair, both programs on one core.
 * @param dir where it keeps its rows; not there yet
 * @param call what each request has as its body
 */
export async function startMinimalPair(
  dir: string,
  upstreamUrl: string,
  call: object,
  started: AsyncDisposableStack,
): Promise<Contender> {
  mkdirSync(dir);
  const env = { MINIMAL_AGENT_KEY: randomUUID(), MINIMAL_HMAC_KEY: randomUUID() };
  const start = async (side: 'front' | 'back', next: string) => {
    const program = await startOwnServer(MINIMAL_PAIR, SERVER_CORE, {
      args: (port) => [side, port, next, join(dir, `${side}.db`)],
      env,
    });
    started.defer(program.stop);
    return program;
  };
  const back = await start('back', upstreamUrl);
  const { url, pid } = await start('front', back.url);
  const request = requestBytes(url, '/', { authorization: `Bearer ${env.MINIMAL_AGENT_KEY}` }, call);
  return {
    name: 'minimal pair',
    url,
    pid,
    otherPids: [back.pid],
    expectedStatus: 200,
    prepare: () => inTurn([request]),
  };
}
