/** Joins work by key into batches. */
interface Batcher<Item, Result> {
  /** Settles with the item's result, once its batch has ended. */
  add(key: string, item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  /** Monotonic. */
  readonly sinceMs: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Runs items in batches, one batch of a key at a time; items that arrive while it runs make the next batch. A slow key delays
 * no other key. (`dataloader` limits neither the batches that run at once nor the wait of an item.)
 *
 * @param options.run returns one result per item, in their order
 * @param options.maxBatches that run at once, over all keys, which take turns
 * @param options.maxWaitMs an item that has waited longer rejects with `tooLate`
 */
export function createBatcher<Item, Result>(options: {
  readonly run: (key: string, items: readonly Item[]) => Promise<readonly Result[]>;
  readonly maxBatches: number;
  readonly maxItems: number;
  readonly maxWaitMs: number;
  readonly monotonic: () => number;
  readonly tooLate: () => Error;
}): Batcher<Item, Result> {
  const { maxBatches, maxItems, maxWaitMs, monotonic } = options;
  const queues = new Map<string, Waiting<Item, Result>[]>();
  const underWay = new Set<string>();
  let scheduled = false;

  const runBatch = async (key: string, batch: readonly Waiting<Item, Result>[]): Promise<void> => {
    const earliest = monotonic() - maxWaitMs;
    const inTime = batch.filter(({ sinceMs }) => sinceMs >= earliest);
    for (const late of batch) if (late.sinceMs < earliest) late.reject(options.tooLate());
    if (inTime.length === 0) return;
    try {
      const results = await options.run(
        key,
        inTime.map(({ item }) => item),
      );
      inTime.forEach(({ resolve }, at) => resolve(results[at] as Result));
    } catch (error) {
      for (const { reject } of inTime) reject(error);
    }
  };

  const start = (): void => {
    scheduled = false;
    for (const [key, waiting] of queues) {
      if (underWay.size >= maxBatches) return;
      if (underWay.has(key)) continue;
      queues.delete(key);
      const batch = waiting.splice(0, maxItems);
      // At the end of the queue, so that other keys come first.
      if (waiting.length > 0) queues.set(key, waiting);
      underWay.add(key);
      void runBatch(key, batch).finally(() => {
        underWay.delete(key);
        start();
      });
    }
  };

  return {
    add: (key, item) =>
      new Promise((resolve, reject) => {
        const waiting = queues.get(key) ?? [];
        waiting.push({ item, sinceMs: monotonic(), resolve, reject });
        queues.set(key, waiting);
        // At the end of this turn of the event loop, so that requests which arrived together share a batch.
        if (!scheduled) setImmediate(start);
        scheduled = true;
      }),
  };
}
