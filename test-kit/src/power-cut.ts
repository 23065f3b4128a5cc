import { spawnSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/*
 * What a disk holds when the power fails: a program runs under strace, which records all that it writes and syncs, and the
 * files are built anew for any instant of that record. What was written before a sync that had ended is there; of all
 * else, anything may be missing, since the kernel writes when and in which order it likes.
 */

const TRACED = 'pwrite64,write,writev,sendto,sendmsg,fsync,fdatasync,ftruncate,unlink';

/** A command to run a program by, which records into a file. */
export const recordedInto = (file: string): readonly [string, ...string[]] => [
  ...(['strace', '-f', '--seccomp-bpf', '-qq', '-y', '-xx', '-s', '1000000', '-e', 'signal=none'] as const),
  ...['-e', `trace=${TRACED}`, '-o', file],
];

/** Whether this machine has strace, and lets it record. */
export const canRecord = (): boolean => {
  const [command, ...args] = recordedInto('/dev/null');
  return spawnSync(command, [...args, 'true']).status === 0;
};

interface Write {
  /** Counts all writes of the record, in their order. */
  readonly number: number;
  readonly offset: number;
  /** undefined cuts the file at the offset. */
  readonly bytes: Buffer | undefined;
}

/** What survives of a write that no sync covers: whether the block at this offset of it does. */
export type Survives = (offset: number) => boolean;

/** An instant of the record, at which the power may fail. */
export interface Instant {
  /** What the program was about to send through a socket or to a terminal, if it was that. */
  readonly sending: Buffer | undefined;
  /** The file whose former writes have just become safe, if that was it. */
  readonly synced: string | undefined;
  /** The files as a start would find them, by their path. */
  files(survives: Survives): ReadonlyMap<string, Buffer>;
}

const CALL = /^(\d+) +(\w+)\((.*)$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/;
const BLOCK = 512;

/**
 * The instants of a record in their order: before everything that the program sends, and after each change of a file or
 * of what is safe of it.
 *
 * @param files to follow, by their path, with what they hold at the start of the record
 */
export async function* instantsOf(
  record: string,
  files: ReadonlyMap<string, Buffer>,
): AsyncGenerator<Instant> {
  const disk = createDisk(files);
  /** Calls that another thread's were recorded in the middle of, and the writes that were over when they began. */
  const open = new Map<string, { readonly text: string; readonly before: number }>();
  for await (const line of createInterface({ input: createReadStream(record) })) {
    const [, resumedBy = '', , rest = ''] = RESUMED.exec(line) ?? [];
    const begun = open.get(resumedBy);
    const [, pid = '', name = '', text = ''] =
      CALL.exec(begun === undefined ? line : begun.text + rest) ?? [];
    if (begun !== undefined) open.delete(resumedBy);
    if (name === '') continue;
    const path = pathOf(text);
    const sent = begun === undefined && /^socket:|^pipe:|^\/dev\//.test(path);
    if (sent) yield { sending: stringsOf(text), synced: undefined, files: disk.files };
    if (!files.has(path)) continue;
    const before = begun?.before ?? disk.writes();
    if (line.endsWith('<unfinished ...>')) {
      open.set(pid, { text: `${pid} ${name}(${text.replace(/ ?<unfinished \.\.\.>$/, '')}`, before });
      continue;
    }
    if (/= -1 \w+/.test(text)) continue;
    disk.change({ name, path, text, before });
    yield { sending: undefined, synced: name.endsWith('sync') ? path : undefined, files: disk.files };
  }
}

function createDisk(before: ReadonlyMap<string, Buffer>) {
  let number = 0;
  const files = new Map<string, { safe: Buffer; unsafe: Write[] }>();
  const fileOf = (path: string, safe: Buffer = Buffer.alloc(0)) => {
    const file = files.get(path) ?? { safe, unsafe: [] };
    files.set(path, file);
    return file;
  };
  for (const [path, content] of before) fileOf(path, content);
  const change = (call: { name: string; path: string; text: string; before: number }): void => {
    const { name, path, text, before } = call;
    if (name === 'unlink') return void files.delete(path);
    const file = fileOf(path);
    if (name === 'fsync' || name === 'fdatasync') {
      const safe = file.unsafe.filter((write) => write.number < before);
      file.safe = written(file.safe, safe);
      file.unsafe = file.unsafe.filter((write) => write.number >= before);
      return;
    }
    const [, at = ''] = /, (\d+)\) += \d+$/.exec(text) ?? [];
    if (name === 'ftruncate') file.unsafe.push({ number: number++, offset: Number(at), bytes: undefined });
    else if (name === 'pwrite64')
      file.unsafe.push({ number: number++, offset: Number(at), bytes: stringsOf(text) });
    else throw new Error(`${path} is changed by ${name}, which is not followed`);
  };
  return {
    writes: () => number,
    change,
    files: (survives: Survives): ReadonlyMap<string, Buffer> =>
      new Map(
        Array.from(files, ([path, { safe, unsafe }]): [string, Buffer] => [
          path,
          written(safe, unsafe, survives),
        ]),
      ),
  };
}

/** @returns the content after writes, of which only what survives has reached the disk */
function written(content: Buffer, writes: readonly Write[], survives: Survives = () => true): Buffer {
  const ends = writes.map(({ offset, bytes }) => offset + (bytes?.length ?? 0));
  const room = Buffer.alloc(ends.reduce((most, end) => Math.max(most, end), content.length));
  content.copy(room);
  let { length } = content;
  for (const { offset, bytes } of writes) {
    if (bytes === undefined) {
      if (!survives(offset)) continue;
      room.fill(0, Math.min(offset, length));
      length = offset;
      continue;
    }
    for (let at = 0; at < bytes.length; at += BLOCK) {
      if (!survives(offset + at)) continue;
      const copied = bytes.copy(room, offset + at, at, at + BLOCK);
      length = Math.max(length, offset + at + copied);
    }
  }
  return room.subarray(0, length);
}

/** Of the file or socket that a call works on. */
function pathOf(text: string): string {
  const [, hex = ''] =
    /^\d+<((?:\\x[0-9a-f]{2})*)>/.exec(text) ?? /^"((?:\\x[0-9a-f]{2})*)"/.exec(text) ?? [];
  return fromHex(hex).toString();
}

/** All bytes that a call was given. */
const stringsOf = (text: string): Buffer =>
  Buffer.concat(Array.from(text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g), ([, hex = '']) => fromHex(hex)));

const fromHex = (hex: string): Buffer => Buffer.from(hex.replaceAll('\\x', ''), 'hex');
