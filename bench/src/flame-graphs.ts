/**
 * `npm run docs:flame-graphs`: profiles both programs while they carry proxied calls, draws each as a flame graph into docs/images/, and
 * prints what share of the event loop's time is whose. A sync of the disk that the loop waits for counts.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { type CpuProfile, callsWithin, sharesOf } from './flame/profile.ts';
import { flameGraph } from './flame/svg.ts';
import { runLoad } from './load.ts';
import { SERVER_CORE, pinSelf, pinnedTo } from './machine.ts';
import { columns } from './report.ts';
import { proxiedCalls } from './rows/calls.ts';
import { startUpstream } from './rows/yardsticks.ts';

const PROGRAMS = ['control-plane', 'webhook'] as const;
const IMAGES = fileURLToPath(new URL('../../docs/images', import.meta.url));
const CONNECTIONS = 32;
const WARM_UP_SECONDS = 10;
const SECONDS = 10;
/** What is less is not listed. */
const MIN_SHARE = 0.015;

const microsNow = (): number => Number(process.hrtime.bigint() / 1000n);

pinSelf();
const work = mkdtempSync(join(tmpdir(), 'svault-flame-'));
try {
  await using started = new AsyncDisposableStack();
  const folderOf = (program: string): string => join(work, 'profiles', program);
  const profiled = (program: string) => {
    const main = fileURLToPath(new URL(`../../${program}/src/main.ts`, import.meta.url));
    const profiling = `--cpu-prof --cpu-prof-dir=${folderOf(program)} --cpu-prof-interval=500`;
    // Its sources in place of what the pair appends: a built program has one file, and no folders.
    const fromSource = `exec "${process.execPath}" ${profiling} "${main}" serve`;
    return [...pinnedTo(SERVER_CORE), 'sh', '-c', fromSource] as const;
  };
  const launcher = { 'control-plane': profiled('control-plane'), webhook: profiled('webhook') };
  const pair = await startPair({ dir: join(work, 'pair'), env: RAISED_LIMITS, launcher });
  started.defer(pair.stop);
  const calls = await proxiedCalls(pair, await startUpstream(started));
  const load = (seconds: number) =>
    runLoad({ ...calls, source: calls.prepare(), connections: CONNECTIONS, seconds });
  await load(WARM_UP_SECONDS);
  const from = microsNow();
  await load(SECONDS);
  const to = microsNow();
  // Profiles are written as the programs end.
  await pair.stop();
  for (const program of PROGRAMS) {
    const [file = ''] = readdirSync(folderOf(program));
    const profile = JSON.parse(readFileSync(join(folderOf(program), file), 'utf8')) as CpuProfile;
    const root = callsWithin(profile, from, to);
    const image = join(IMAGES, `flame-${program}.svg`);
    writeFileSync(image, flameGraph(root, `${program}: time of the event loop in proxied calls`));
    const shares = sharesOf(root).filter(([, share]) => share >= MIN_SHARE);
    const lines = shares.map(([owner, share]) => [owner, `${(share * 100).toFixed(0)} %`]);
    console.log(`${columns([[program, ''], ...lines])}\ndrawn into ${image}\n`);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
