import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeCredential } from '@svault/compose/admin-client';
import { type Pair, startPair } from '@svault/compose/pair';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathFor } from './support/pair-agents.ts';

/**
 * A disk that fails each sync of a group once a credential was asked for while a file is there, named after the program:
 * calls of background jobs come at any time, and the program would end before the use.
 */
const FAILING_DISK = `
  import { subscribe } from 'node:diagnostics_channel';
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { fdatasync } = fs;
  const program = process.argv[1].includes('webhook') ? 'webhook' : 'control-plane';
  let fails = false;
  subscribe('http.server.request.start', ({ request }) => {
    fails ||= request.url.includes('/credential') && fs.existsSync(process.env.FAILING + program);
  });
  const failure = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
  fs.fdatasync = (file, done) => (fails ? setImmediate(done, failure) : fdatasync(file, done));
  syncBuiltinESMExports();`;

const dir = tempDir();
const failing = join(dir.path, 'failing-');
const lines: string[] = [];
let pair: Pair;
let apiKey: string;

beforeAll(async () => {
  pair = await startPair({
    dir: join(dir.path, 'pair'),
    env: {
      NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(FAILING_DISK).toString('base64')}`,
      FAILING: failing,
      SV_LOG_FORMAT: 'json',
    },
    onLine: (program, line) => lines.push(`${program} ${line}`),
  });
  await storeCredential(pair.admin, 'github', { tokenType: 'PlainText', value: 'v' });
  const made = await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: 'builder',
  });
  ({ apiKey } = made);
  await pair.admin.call('POST', `/api/agents/${made.agent.id}/grants`, { serviceName: 'github' });
});
afterAll(async () => {
  await pair.stop();
  dir.remove();
});

const use = async (): Promise<{ status: number; code?: string }> => {
  const answer = await fetch(pair.controlPlaneUrl + pathFor('github'), {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const { code } = (await answer.json()) as { code?: string };
  return { status: answer.status, ...(code !== undefined && { code }) };
};

test.each([
  ['control-plane', { status: 503, code: 'AUDIT_UNAVAILABLE' }],
  ['webhook', { status: 503, code: 'UNAVAILABLE' }],
] as const)(
  'a %s whose disk fails a sync denies the use, ends, and works after a start',
  async (program, denied) => {
    expect(await use()).toEqual({ status: 200 });
    const ended = once(pair.process(program).child, 'exit');
    writeFileSync(failing + program, '');
    expect(await use()).toEqual(denied);
    expect(await ended).toEqual([1, null]);
    const fatal = lines.find((line) => line.startsWith(program) && line.includes('"level":"fatal"'));
    expect(fatal).toContain('could not be synced to its disk: EIO');
    rmSync(failing + program);
    await pair.restart(program);
    // The control plane asks a webhook that was away again only after a while.
    await expect.poll(use).toEqual({ status: 200 });
  },
);
