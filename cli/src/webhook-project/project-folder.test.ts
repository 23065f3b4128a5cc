import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { mustNotBeOfOthers } from './project-folder.ts';

let me: number;
beforeEach(() => {
  vi.spyOn(process, 'geteuid').mockImplementation(() => me);
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test.each([
  ['mine', 1_000, 1_000, 0o644, true],
  ['root’s', 1_000, 0, 0o644, true],
  ['another user’s', 1_000, 1_001, 0o644, false],
  ['mine, which my group can change', 1_000, 1_000, 0o664, false],
  ['mine, which anybody can change', 1_000, 1_000, 0o646, false],
  ['another user’s, for root, who may read whatever there is', 0, 1_001, 0o644, true],
  ['anybody’s to change, for root as well', 0, 0, 0o666, false],
])('a file that is %s', (_whose, asUser, uid, mode, isUsed) => {
  me = asUser;
  const look = (): void => mustNotBeOfOthers('compose.yaml', { uid, mode });
  if (isUsed) expect(look).not.toThrow();
  else expect(look).toThrow(/compose\.yaml belongs to another user or can be changed by others/);
});
