/**
 * Runs `stop` once, at the first SIGTERM or SIGINT, then ends the process: 0 when it stopped cleanly, else 1.
 *
 * A further Ctrl-C ends it at once, for the operator who does not want to wait. A further SIGTERM changes nothing:
 * a launcher sends one to a child that the terminal's Ctrl-C has reached already.
 */
export function onStop(stop: () => Promise<void>): void {
  let stopping = false;
  const first = (): void => {
    stopping = true;
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', () => {
    if (!stopping) first();
  });
  process.on('SIGINT', () => {
    if (stopping) process.exit(1);
    first();
  });
}
