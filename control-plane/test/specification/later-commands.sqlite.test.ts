import { beforeAll, expect, test } from 'vitest';
import { LATER_COMMANDS, LATER_CONTEXTS, exitCodes, svaultExitCode } from './later-commands.ts';

/*
 * Rows of the specification whose command does not exist yet. A release that brings it finds here what it has to move: the
 * rows fail until they are played at the client.
 */

let told: string;
beforeAll(async () => {
  told = await exitCodes();
});

test.each(Object.entries({ ...LATER_COMMANDS, ...LATER_CONTEXTS }))(
  '%s waits for a command of svault',
  async (_key, later) => {
    expect(told).toMatch(later.told);
    expect(await svaultExitCode(...later.command)).toBe(2);
  },
);
