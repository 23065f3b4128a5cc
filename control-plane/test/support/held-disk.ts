import fs, { type NoParamCallback } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** The disk under the SQLite databases that this process opens from now on. */
export interface HeldDisk {
  /** Syncs that wait. */
  readonly waiting: number;
  /** From now on a sync ends when the test says so. */
  hold(): void;
  /** Resolves when a commit waits for the disk. */
  asked(): Promise<void>;
  /** The syncs that wait, and all later ones, go on. */
  release(): void;
  /** The syncs that wait fail as on a broken disk. */
  fail(): void;
}

/** Call it before the program opens its database. */
export function takeDisk(): HeldDisk {
  const { fdatasync } = fs;
  const waiting: { readonly file: number; readonly done: NoParamCallback }[] = [];
  let isHeld = false;
  let onAsked: () => void = () => undefined;
  fs.fdatasync = Object.assign((file: number, done: NoParamCallback): void => {
    if (!isHeld) return fdatasync(file, done);
    waiting.push({ file, done });
    onAsked();
  }, fdatasync);
  syncBuiltinESMExports();
  return {
    get waiting() {
      return waiting.length;
    },
    hold: () => void (isHeld = true),
    asked: () =>
      new Promise((resolve) => {
        onAsked = resolve;
        if (waiting.length > 0) resolve();
      }),
    release: () => {
      isHeld = false;
      for (const { file, done } of waiting.splice(0)) fdatasync(file, done);
    },
    fail: () => {
      isHeld = false;
      const error = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
      for (const { done } of waiting.splice(0)) done(error);
    },
  };
}
