import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';
import type { Outcome } from './command-line.ts';

let people: PairAndPeople;

beforeAll(async () => {
  people = await pairAndPeople();
});
afterAll(() => people.close());

const svault = (...args: string[]): Promise<Outcome> => people.admin.svault(args);

test('the vault is locked and unlocked, and says how it is', async () => {
  expect(await svault('vault', 'status', '--format', 'name')).toEqual({
    code: 0,
    out: 'unlocked\n',
    err: '',
  });

  expect(await svault('vault', 'lock')).toEqual({
    code: 0,
    out: '',
    err: 'the vault is locked: no credential is given out and nothing can be changed, until svault vault unlock\n',
  });
  expect((await svault('vault', 'stat')).out).toMatch(/^state +locked\nsince +\S+Z \(.+\)\nid +vlt_/);
  const refused = await svault('agents', 'create', '--name', 'late');
  expect(refused).toMatchObject({ code: 5, out: '' });
  expect(refused.err).toContain('VAULT_LOCKED');

  const unlocked = await svault('vault', 'unlock', '--format', 'json');
  expect(unlocked).toMatchObject({
    code: 0,
    err: 'the vault is unlocked: agents get what they are granted\n',
  });
  expect(JSON.parse(unlocked.out)).toMatchObject({ locked: false, lockedAt: null });
});
