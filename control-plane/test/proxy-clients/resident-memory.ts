import { readFileSync, writeFileSync } from 'node:fs';

const MB = 1_000_000;

/** How much more memory a process held than when the measuring began, in megabytes (10^6 bytes). Linux only. */
export interface ResidentMemory {
  /** At the worst moment since then. */
  most(): number;
  /** Now. */
  now(): number;
}

/** proc_pid_clear_refs(5): 5 sets the high-water mark back to what is resident now. */
export function measureResident(pid: number | undefined): ResidentMemory {
  if (pid === undefined) throw new Error('it does not run');
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const read = (field: 'VmRSS' | 'VmHWM'): number => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / MB;
  };
  const before = read('VmRSS');
  return { most: () => read('VmHWM') - before, now: () => read('VmRSS') - before };
}
