/** The longest time that counts at once. */
const STEP_MS = 250;

/**
 * Counts down in steps, each of which counts as itself however late its timer is, and has a turn of reading behind it:
 * where this process got no CPU, or the machine slept, nobody else was slow.
 * @param over is called once, unless the deadline is cleared before
 * @returns clears it
 */
export function startDeadline(ms: number, over: () => void): () => void {
  let left = ms;
  let cleared = false;
  let timer: NodeJS.Timeout | undefined;
  const step = (): void => {
    if (cleared) return;
    if (left <= 0) return over();
    const counted = Math.min(left, STEP_MS);
    left -= counted;
    timer = setTimeout(() => setImmediate(step), counted);
    timer.unref();
  };
  step();
  return () => {
    cleared = true;
    clearTimeout(timer);
  };
}
