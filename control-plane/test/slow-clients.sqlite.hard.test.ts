import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { type Socket, connect } from 'node:net';
import { type Pair, startPair } from '@svault/compose/pair';
import type { ProgramName } from '@svault/compose/program-process';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientOf } from './support/management-service.ts';
import { pathFor } from './support/pair-agents.ts';

/** R6: who sends slowly, or nothing, is told so in time and gives its descriptor back, while the others are answered. */

const IDLE = 5_000;
const SLOW = 300;
const DESCRIPTORS = 3 * IDLE;
/** Less than the queue of a server holds. */
const AT_ONCE = 100;
/** A byte each, so that nobody is taken for silent. */
const DRIP_MS = 1_000;
const HIGH = '1000000000';

const dir = tempDir();
let pair: Pair;
let apiKey: string;
beforeAll(async () => {
  // This process holds the other ends.
  execFileSync('prlimit', [`--pid=${process.pid}`, `--nofile=${DESCRIPTORS}`]);
  const launcher = ['prlimit', `--nofile=${DESCRIPTORS}`] as const;
  pair = await startPair({
    dir: dir.path,
    env: { SV_LOG_LEVEL: 'error', SV_LIMIT_AGENT_CREDENTIALS: HIGH, SV_LIMIT_USER_AGGREGATE: HIGH },
    launcher: { 'control-plane': launcher, webhook: launcher },
  });
  const made = await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: 'good',
  });
  await pair.admin.call('POST', `/api/agents/${made.agent.id}/grants`, {
    allowMissing: true,
    serviceName: 'github',
  });
  ({ apiKey } = made);
});
afterAll(async () => {
  await pair.stop();
  dir.remove();
});

const descriptorsOf = (program: ProgramName): number =>
  readdirSync(`/proc/${pair.process(program).child.pid}/fd`).length;

/** Sends a beginning and then a byte now and then. @returns the status that it was told, and undefined for none */
async function slowly(url: string, beginning: string): Promise<string | undefined> {
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (piece: string) => (text += piece)).on('error', () => undefined);
  if (beginning !== '') socket.write(beginning);
  const drip = beginning === '' ? undefined : setInterval(() => socket.write('x'), DRIP_MS);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(drip);
  return /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
}

/** Asks both programs, one time after another. @returns each answer that was not the expected one */
async function goodTraffic(isOver: () => boolean): Promise<{ asked: number; wrong: unknown[] }> {
  const wrong: unknown[] = [];
  let asked = 0;
  for (; !isOver(); asked++) {
    const client = clientOf(pair.controlPlaneUrl, { authorization: `Bearer ${apiKey}` });
    const sent = await client('GET', pathFor('github'));
    if (sent.status !== 307) wrong.push(sent.status);
    // A ticket for a credential that nobody stored: the webhook has looked at it, and at the vault.
    const { status } = await fetch(sent.headers.get('location') ?? '');
    if (status !== 404) wrong.push(status);
  }
  return { asked, wrong };
}

// Those whose bodies are slow are told at once where the head is enough: the route's limit, or a signature that is missing.
test.each([
  ['control-plane', '/api/login/link', ['408', '429']],
  ['webhook', '/v1/health', ['401']],
] as const)('slow clients of the %s are told, and others are answered', async (program, path, ofBodies) => {
  const url = program === 'webhook' ? pair.webhookUrl : pair.controlPlaneUrl;
  const before = descriptorsOf(program);
  let over = false;
  const good = goodTraffic(() => over);
  const many = async (count: number, beginning: string): Promise<(string | undefined)[]> => {
    const told: Promise<string | undefined>[] = [];
    while (told.length < count) {
      told.push(...Array.from({ length: AT_ONCE }, () => slowly(url, beginning)));
      // Behind them all in the system's queue, which drops what is too much for it without a word to an idle client.
      await fetch(`${url}/healthz`, { headers: { connection: 'close' } });
    }
    return Promise.all(told);
  };
  const slow = Promise.all([
    many(IDLE, ''),
    many(SLOW, 'GET / HTTP/1.1\r\nHost: a\r\nX-Long: '),
    many(
      SLOW,
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
    ),
  ]);
  await expect.poll(() => descriptorsOf(program)).toBeGreaterThan(before + IDLE);
  const [idle, heads, bodies] = await slow;
  over = true;
  const { asked, wrong } = await good;
  const kinds = (told: readonly unknown[]): unknown[] => [...new Set(told)];
  expect([kinds(idle), kinds(heads)]).toEqual([['408'], ['408']]);
  expect(ofBodies).toEqual(expect.arrayContaining(kinds(bodies)));
  expect(wrong).toEqual([]);
  expect(asked).toBeGreaterThan(100);
  // What good traffic keeps open is little, and of no moment.
  await expect.poll(() => descriptorsOf(program)).toBeLessThan(before + 20);
});
