/** Runs one task for each key at a time; calls before it settles share its promise. */
export function createSingleFlight<Result>(): (key: string, task: () => Promise<Result>) => Promise<Result> {
  const inFlight = new Map<string, Promise<Result>>();
  return (key, task) => {
    const shared = inFlight.get(key) ?? task().finally(() => inFlight.delete(key));
    inFlight.set(key, shared);
    return shared;
  };
}
