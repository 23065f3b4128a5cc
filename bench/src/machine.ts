import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';

/** The servers' core, and the one that makes the load and everything else. */
export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

/** A command that pins what follows to a core. */
export const pinnedTo = (core: number): readonly [string, ...string[]] => ['taskset', '-c', String(core)];

/** Moves this process to the load's core. @throws Error where there is one core only, or no taskset */
export function pinSelf(): void {
  if (cpus().length < 2) throw new Error('the benchmarks need two cores: one serves, one makes the load');
  moveSelf(String(LOAD_CORE));
}

const moveSelf = (cores: string): void =>
  void execFileSync('taskset', ['-acp', cores, String(process.pid)], { stdio: 'ignore' });

/** Starts a program that has both cores, as it has for a person. */
export async function startOnBothCores<T>(start: () => Promise<T>): Promise<T> {
  moveSelf(`${SERVER_CORE},${LOAD_CORE}`);
  try {
    return await start();
  } finally {
    pinSelf();
  }
}

const CLOCK_TICKS_PER_SECOND = 100;

/** CPU seconds that a process has used so far, from `/proc`. */
export const cpuSeconds = (pid: number): number => sumOfTicks(pid, [UTIME, STIME]);

/** The same with what its children have used, those included that have ended. */
export function cpuSecondsOfFamily(pid: number): number {
  const own = sumOfTicks(pid, [UTIME, STIME, ENDED_CHILDREN_UTIME, ENDED_CHILDREN_STIME]);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [];
  return children.reduce((sum, child) => {
    // One that has just ended is among those that have.
    if (!existsSync(`/proc/${child}/stat`)) return sum;
    return sum + cpuSeconds(Number(child));
  }, own);
}

/** Fields of `/proc/PID/stat`, counted from 1. */
const [UTIME, STIME, ENDED_CHILDREN_UTIME, ENDED_CHILDREN_STIME] = [14, 15, 16, 17];

function sumOfTicks(pid: number, fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold spaces; the fields behind it do not, and begin with the third.
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.reduce((sum, field) => sum + Number(values[field - 3]), 0) / CLOCK_TICKS_PER_SECOND;
}

export const cpuSecondsOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

/** Resident memory of a process in megabytes (10^6 bytes): now, or the most since {@link forgetMostResident}. */
export function residentMb(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const kib = new RegExp(`${which}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kib) * 1024) / 1e6;
}

export function forgetMostResident(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

const FSYNC_SAMPLES = 60;
const BLOCK = Buffer.alloc(4096, 'x');

/** Median milliseconds of forcing a block to the disk of `dir`, which every durable answer waits for. */
export function fsyncMs(dir: string): number {
  const file = openSync(join(dir, 'fsync-probe'), 'w');
  const samples = Array.from({ length: FSYNC_SAMPLES }, () => {
    const startedAt = performance.now();
    writeSync(file, BLOCK);
    fsyncSync(file);
    return performance.now() - startedAt;
  }).sort((one, other) => one - other);
  closeSync(file);
  return samples[FSYNC_SAMPLES / 2] ?? Number.NaN;
}

/** What a result must be read with. */
export function machine(): Readonly<Record<string, unknown>> {
  return {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryMb: Math.round(totalmem() / 1e6),
    kernel: release(),
    load: loadavg()[0],
    node: process.version,
    commit: commit(),
  };
}

/** Undefined outside a checkout. */
function commit(): string | undefined {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
