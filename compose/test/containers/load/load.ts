import { type Book, askingInto, newBook } from './book.ts';
import { type Access, type Written, callOn, readOn, writeOnce } from './clients.ts';
import type { World } from './world.ts';
import { until } from '../engine/machine.ts';

/** What a load run did, for `holdAgainst`. */
export interface LoadRun {
  readonly book: Book;
  readonly written: readonly Written[];
  /** By agents, and through proxies. */
  readonly reads: readonly Access[];
  readonly calls: readonly Access[];
  /** When it began, as the log writes times. */
  readonly from: string;
}

export interface Load {
  /** Something breaks now, until `mended`: answers of this time may be those of a control plane that lacks a part. */
  readonly broken: () => void;
  readonly mended: () => void;
  /** Goes on until each client was answered so many times more. */
  readonly goOn: (times: number) => Promise<void>;
  /** Lets each client finish what it is at. */
  readonly stop: () => Promise<LoadRun>;
}

/** A client does no more in one run than can be held against the state in a few seconds. */
const MAX_ROUNDS = 60;

let runs = 0;

/**
 * Has the readers and proxies of a world, and some writers, ask again and again, each one thing after another.
 *
 * @param options.writers each makes agents, credentials and grants of its own, and takes some of them back
 */
export function startLoad(world: World, { writers }: { readonly writers: number }): Load {
  const run = (runs += 1);
  const from = new Date().toISOString();
  const book = newBook();
  const [written, reads, calls]: [Written[], Access[], Access[]] = [[], [], []];
  for (const { apiKey } of world.readers) book.secrets.add(apiKey);
  for (const { key } of world.proxies) book.secrets.add(key);
  book.secrets.add(world.value).add(world.scale.adminKey);
  let over = false;
  const isOver = (): boolean => over;
  const asking = (who: string) => ({ world, book, ask: askingInto(book, who, world.scale.send) });
  const writeOn = async (writer: number): Promise<void> => {
    const client = asking(`writer ${writer}`);
    for (let turn = 0; !over && turn < MAX_ROUNDS; turn++)
      written.push(await writeOnce(client, `w-${run}-${writer}-${turn}`, turn));
  };
  const clients = [
    ...world.readers.map((reader, n) =>
      readOn(asking(`reader ${n}`), reader, (one) => reads.push(one), isOver),
    ),
    ...world.proxies.map((proxy, n) =>
      callOn(asking(`caller ${n}`), proxy, (one) => calls.push(one), isOver),
    ),
    ...Array.from({ length: writers }, (_, writer) => writeOn(writer)),
  ];
  const all = Promise.all(clients);
  // A client that fails ends the run, which says so at its stop.
  all.catch(() => (over = true));
  return {
    broken: () => void book.windows.push({ from: Date.now(), to: Number.POSITIVE_INFINITY }),
    mended: () => {
      const last = book.windows.at(-1);
      if (last !== undefined) last.to = Date.now();
    },
    goOn: async (times) => {
      const ids = [
        ...world.readers.map(({ agentId }) => agentId),
        ...world.proxies.map(({ proxyId }) => proxyId),
      ];
      const done = (id: string): number =>
        [...reads, ...calls].filter(({ by, fate }) => by === id && fate === 'done').length;
      const goals = ids.map((id) => [id, done(id) + times] as const);
      await until('further answers', async () => over || goals.every(([id, goal]) => done(id) >= goal));
    },
    stop: async () => {
      over = true;
      await all;
      return { book, written, reads, calls, from };
    },
  };
}
