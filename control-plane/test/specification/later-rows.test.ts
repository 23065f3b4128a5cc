import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backstage, goBackstage } from './backstage.ts';
import { ERROR_ROWS } from './error-rows.ts';
import { LATER_COMMANDS, LATER_ERRORS, exitCodes, svaultExitCode } from './later-errors.ts';
import { LATER_LIMITS } from './later-limits.ts';
import type { LaterRow } from './later-row.ts';
import { LIMIT_ROWS } from './limit-rows.ts';
import type { Row } from './row.ts';

/*
 * Rows of the specification whose endpoint does not exist yet, played at what will stand behind it. A release that
 * brings an endpoint finds here what it has to move: its rows fail until they are played there.
 */

let backstage: Backstage;
beforeAll(async () => {
  // Their webhook is on this machine.
  backstage = await goBackstage({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  const token = { serviceName: 'github', tokenType: 'PlainText' };
  await backstage.admin('POST', '/api/tokens', { body: token });
});
afterAll(() => backstage.close());

const SECTIONS = [
  ['Limits', LIMIT_ROWS, LATER_LIMITS],
  ['Errors', ERROR_ROWS, LATER_ERRORS],
] as const;

describe.each(SECTIONS)('%s', (_section, rows, laterRows) => {
  const all = Object.entries(laterRows as Readonly<Record<string, LaterRow>>);

  test.each(all)('%s', async (key, { play }) => {
    // A day later: nothing of the row before is counted any more.
    backstage.wait(25 * 3_600_000);
    await play(backstage, (rows as Readonly<Record<string, Row>>)[key]!);
  });

  const waiting = all.map(([key, { endpoint }]) => ({ key, ...endpoint }));
  test.each(waiting)('$key waits for $of', async ({ method, path }) => {
    // An endpoint that exists answers otherwise, to a method that it does not have too.
    for (const asked of [method, 'PUT'])
      expect([asked, path, (await backstage.admin(asked, path)).status]).toEqual([asked, path, 404]);
  });
});

describe('the command-line client', () => {
  let told: string;
  beforeAll(async () => {
    told = await exitCodes();
  });

  test.each(Object.entries(LATER_COMMANDS))('%s waits for a command of svault', async (_key, later) => {
    expect(told).toMatch(later.told);
    expect(await svaultExitCode(...later.command)).toBe(2);
  });
});
