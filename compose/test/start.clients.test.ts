import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AdminClient } from '../src/admin-client.ts';
import { ensureBound } from '../src/binding.ts';
import { freePort } from '../src/free-port.ts';
import { adviceOn, mustBeFree, startPorts } from '../src/start-addresses.ts';
import { type Place, type Started, inShell, endedStart, started } from './started-pair.ts';

let folder: string;
let place: Place;
let urls: readonly string[];
const running: Started[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svault-test-'));
  const [port, webhookPort] = await Promise.all([freePort(), freePort()]);
  urls = [port, webhookPort].map((number) => `http://127.0.0.1:${number}`);
  place = { cwd: folder, env: { SVAULT_PORT: String(port), SVAULT_WEBHOOK_PORT: String(webhookPort) } };
});
afterEach(() => {
  for (const one of running.splice(0)) one.endAll();
  rmSync(folder, { recursive: true });
});

async function start(where = place): Promise<Started> {
  const one = await started(where);
  running.push(one);
  return one;
}

/** The lines to copy, in their order. */
const linesIn = (told: string): readonly string[] =>
  told
    .split('\n')
    .filter((line) => /^ {2}(?:export|\.\/svault|KEY=|SVAULT_KEY=|URL=|curl)/.test(line))
    .map((line) => line.trim());

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

describe('npm start', () => {
  test('prints commands that lead to a first credential, which survives Ctrl-C and a restart; a second start changes nothing', async () => {
    const first = await start();
    const another = await endedStart(place);
    const problem = `svault runs already at ${urls[0]}: use it, or stop it with Ctrl-C where it was started`;
    expect(another).toEqual({ code: 1, out: '', err: `svault: ${problem}\n` });
    expect(first.told.match(/owner link +http\S+\/login\/link\?token=\S+/g)).toHaveLength(1);
    expect(first.told).toContain(`console        ${urls[0]}/\n`);
    const [signIn = '', store = '', makeAgent = '', grant = '', get = '', ...fetching] = linesIn(first.told);
    const fetchIt = fetching.join('; ');
    inShell(`${signIn}; printf %s 'my first secret' | ${store}`);
    const KEY = inShell(`${signIn}; ${makeAgent}; printf %s "$KEY"`);
    inShell(`${signIn}; ${grant}`);
    expect(inShell(`${signIn}; ${get}`, { KEY })).toBe('my first secret');
    const credential = { token: { accessToken: 'my first secret', serviceName: 'github' } };
    expect(JSON.parse(inShell(fetchIt, { KEY }))).toMatchObject(credential);

    expect(await first.interrupt()).toEqual({ code: 0, err: '' });
    expect(await Promise.all(urls.map(answers))).toEqual([false, false]);

    const second = await start({ ...place, env: {} });
    expect(linesIn(second.told)).toEqual([]);
    expect(second.told).toContain(`command line   ${signIn}\n`);
    expect(second.told).toContain(`console        ${urls[0]}/\n`);
    expect(second.told).toContain('owner link     npm start -- owner-link\n');
    expect(JSON.parse(inShell(fetchIt, { KEY }))).toMatchObject(credential);
    expect((await second.interrupt()).code).toBe(0);

    const elsewhere = { ...place.env, SVAULT_PORT: String(await freePort()) };
    const moved = await endedStart({ ...place, env: elsewhere });
    expect(moved).toMatchObject({ code: 1, out: '', err: expect.stringContaining(AS_AT_FIRST) });
  });

  test('goes on without the webhook where that is ended by itself, and says so', async () => {
    const pair = await start();
    pair.endWebhook();
    const said =
      'svault: the webhook has ended: nothing is delivered any more. To start it again: Ctrl-C here, then npm start\n';
    await expect.poll(() => pair.err(), { timeout: 20_000 }).toContain(said);
    expect(await Promise.all(urls.map(answers))).toEqual([true, false]);
    expect((await pair.interrupt()).code).toBe(0);
  });

  const AS_AT_FIRST = 'start it without SVAULT_PORT and SVAULT_WEBHOOK_PORT';

  test('does not start at another address of the webhook than that of its first start, and says what to do', async () => {
    const admin = { call: async () => ({ url: 'http://127.0.0.1:2' }) } as unknown as AdminClient;
    const problem = await ensureBound(admin, 'http://127.0.0.1:3', async () => '').catch(String);
    expect(problem).toContain('is bound to http://127.0.0.1:2, but the webhook is at http://127.0.0.1:3');
    expect(adviceOn(problem ?? '', folder)).toContain(AS_AT_FIRST);
  });

  test.each(['SVAULT_PORT', 'SVAULT_WEBHOOK_PORT'])('reports in one line that %s is taken', async (name) => {
    const other = createServer((socket) => socket.destroy()).listen(Number(place.env[name]), '127.0.0.1');
    await once(other, 'listening');
    const said = new RegExp(`^port ${place.env[name]} of 127\\.0\\.0\\.1 is taken .*${name}=…$`);
    await expect(mustBeFree(startPorts(place.env))).rejects.toThrow(said);
    other.close();
  });

  test('reports in one line that a text is not a port', () => {
    for (const SVAULT_PORT of ['99999', '0', 'x', '1e3'])
      expect(() => startPorts({ SVAULT_PORT })).toThrow(/^SVAULT_PORT must be a port from 1 to 65535$/);
  });
});
