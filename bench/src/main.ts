/**
 * `npm run bench [-- --only rates|proxy|idle|hostile|attack|starts|cli --rounds N --seconds N --connections N]`: measures what
 * performance targets exist for, each rate as a ratio to a bare Express server in the same run, prints the table and writes the
 * run under `bench/results/`. `--only` may be repeated.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Pair, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { newKey } from '@svault/shared';
import { fsyncMs, LOAD_CORE, machine, pinnedTo, pinSelf, SERVER_CORE } from './machine.ts';
import { type Row, table, writeResults } from './report.ts';
import { clientStarts } from './rows/client-start.ts';
import { hostileWebhookRows } from './rows/hostile-webhook.ts';
import { idleConnectionRows, manyDescriptors } from './rows/idle-connections.ts';
import { proxyRows } from './rows/proxy.ts';
import { startContenders } from './rows/rate-contenders.ts';
import { rateRows } from './rows/rates.ts';
import { startAndIdleMemory } from './rows/start-and-memory.ts';
import { webhookUnderAttackRows } from './rows/webhook-under-attack.ts';

const SECTIONS = ['rates', 'proxy', 'idle', 'hostile', 'attack', 'starts', 'cli'] as const;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [...SECTIONS] },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
  },
});
const options = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
};
const unknown = values.only.filter((name) => !SECTIONS.some((section) => section === name));
if (unknown.length > 0) throw new Error(`--only takes ${SECTIONS.join(', ')}; not ${unknown.join(', ')}`);

pinSelf();
const dir = mkdtempSync(join(tmpdir(), 'svault-bench-'));
try {
  const disk = fsyncMs(dir);
  const { rounds, seconds, connections } = options;
  console.log(`bench: ${rounds} rounds of ${seconds} s each, ${connections} connections, one core a server`);
  console.log(`a 4 KiB append reaches this disk in ${disk.toFixed(2)} ms`);
  const rows: Row[] = [];
  let details: object = {};
  if (values.only.includes('rates')) {
    const contenders = await startContenders(dir, seconds);
    try {
      const { rows: rates, ...measured } = await rateRows(contenders, { ...options, pids: contenders.pids });
      rows.push(...rates);
      details = measured;
    } finally {
      await contenders.stop();
    }
  }
  const servers = pinnedTo(SERVER_CORE);
  if (values.only.includes('proxy'))
    rows.push(
      ...(await withPair('proxy', { 'control-plane': servers, webhook: pinnedTo(LOAD_CORE) }, (pair) =>
        proxyRows(pair, options),
      )),
    );
  if (values.only.includes('idle')) {
    const core = manyDescriptors(servers);
    rows.push(
      ...(await withPair('idle', { 'control-plane': core, webhook: pinnedTo(LOAD_CORE) }, (pair) =>
        idleConnectionRows(pair, options),
      )),
    );
  }
  if (values.only.includes('hostile')) rows.push(...(await besideHostile(servers)));
  if (values.only.includes('attack'))
    rows.push(...(await webhookUnderAttackRows(mkdtempSync(join(dir, 'attack-')), options)));
  if (values.only.includes('starts'))
    rows.push(
      ...(await withPair('starts', { 'control-plane': servers, webhook: pinnedTo(LOAD_CORE) }, (pair) =>
        startAndIdleMemory(pair, rounds),
      )),
    );
  if (values.only.includes('cli'))
    rows.push(
      ...(await withPair('cli', { 'control-plane': servers, webhook: servers }, (pair) =>
        clientStarts(pair, join(dir, 'client'), rounds),
      )),
    );
  console.log(`\n${table(rows)}`);
  const run = { machine: { ...machine(), fsyncMs: disk }, options, rows, ...details };
  console.log(`\nwritten to ${writeResults(run, new Date())}`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}

/** Two accounts: of two starts, as an operator makes them. */
async function besideHostile(servers: ReturnType<typeof pinnedTo>): Promise<readonly Row[]> {
  const launcher = { 'control-plane': servers, webhook: pinnedTo(LOAD_CORE) };
  // Not the placeholder: a start with another address would rename that one.
  const place = { dir: join(dir, 'hostile'), launcher, ownerEmail: 'bench@localhost' };
  const first = await startPair({ ...place, env: RAISED_LIMITS });
  await first.stop();
  const hostileKey = newKey('svadmin');
  const env = {
    ...RAISED_LIMITS,
    SV_BOOTSTRAP_EMAIL: 'hostile@localhost',
    SV_BOOTSTRAP_ADMIN_KEY: hostileKey,
    SV_BOOTSTRAP_ADMIN_KEY_FILE: '',
  };
  const portOf = (url: string): number => Number(new URL(url).port);
  const pair = await startPair({
    ...place,
    env,
    controlPlanePort: portOf(first.controlPlaneUrl),
    webhookPort: portOf(first.webhookUrl),
  });
  try {
    return await hostileWebhookRows(pair, hostileKey, options);
  } finally {
    await pair.stop();
  }
}

async function withPair<T>(
  name: string,
  launcher: NonNullable<Parameters<typeof startPair>[0]['launcher']>,
  measure: (pair: Pair) => Promise<T>,
): Promise<T> {
  const pair = await startPair({ dir: join(dir, name), env: RAISED_LIMITS, launcher });
  try {
    return await measure(pair);
  } finally {
    await pair.stop();
  }
}
