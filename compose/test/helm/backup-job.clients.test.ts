import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Pair, pairSettings, startPair } from '../../src/pair.ts';
import { COMPOSE } from '../deployment.ts';
import { MINIMAL, podsOf, render } from './charts.ts';

const dir = tempDir();
const place = { dir: join(dir.path, 'pair') };
let pair: Pair;
beforeAll(async () => {
  pair = await startPair(place);
});
afterAll(async () => {
  await pair?.stop();
  dir.remove();
});

const portOf = (url: string): number => Number(new URL(url).port);

test('the command of the backup job writes a backup while the webhook runs, and then removes those that are too old', async () => {
  const { manifests } = await render('webhook', MINIMAL.webhook, dir.path);
  const container = podsOf(manifests)['CronJob']?.spec.containers[0];
  const backups = join(dir.path, 'backups');
  mkdirSync(backups);
  const days = { old: 15, recent: 13 };
  for (const [name, age] of Object.entries(days)) {
    const path = join(backups, `${name}.backup`);
    writeFileSync(path, '');
    const then = Date.now() / 1000 - age * 86_400;
    utimesSync(path, then, then);
  }
  const ports = { controlPlane: portOf(pair.controlPlaneUrl), webhook: portOf(pair.webhookUrl) };
  const { env } = pairSettings(place, ports);
  const [script = ''] = container?.args ?? [];
  const here = script
    .replaceAll('/var/backups/svault', backups)
    .replaceAll('node /svault', `${process.execPath} ${join(COMPOSE, '..')}`);
  const { code, stdout, stderr } = await run(['sh', '-euc', here], { env: env as Record<string, string> });
  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stderr: '' });
  const left = readdirSync(backups).toSorted();
  expect(left).toEqual([expect.stringMatching(/^2.*Z\.backup$/), 'recent.backup']);
  expect(readFileSync(join(backups, left[0] ?? '')).length).toBeGreaterThan(1000);
});
