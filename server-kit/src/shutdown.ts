/**
 * Runs `stop` once, at the first SIGTERM or SIGINT, then lets the process end by itself. A second signal ends it
 * at once, for the operator who does not want to wait.
 */
export function onStop(stop: () => Promise<void>): void {
  const first = (): void => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.removeListener(signal, first);
      process.once(signal, () => process.exit(1));
    }
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', first).once('SIGINT', first);
}
