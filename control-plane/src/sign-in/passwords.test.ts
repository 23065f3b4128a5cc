import { hash, parseOptions } from '@node-rs/argon2';
import { expect, it } from 'vitest';
import { createPasswords } from './passwords.ts';

const passwords = createPasswords();
const PASSWORD = 'correct horse battery staple';

it('keeps Argon2id with at least the memory and passes that OWASP names, and a salt of its own', async () => {
  const [kept, again] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)]);
  expect(kept).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(parseOptions(kept)).toMatchObject({ saltLen: 16, outputLen: 32 });
  expect(again).not.toBe(kept);
});

it('tells the right password from a wrong one, and knows both spellings of an accent', async () => {
  const kept = await passwords.hash('caf\u00E9 au lait, please');
  expect(await passwords.verify(kept, 'cafe\u0301 au lait, please')).toBe(true);
  expect(await passwords.verify(kept, 'cafe au lait, please')).toBe(false);
});

it('lets nobody in where there is no password', async () => {
  expect(await passwords.verify(undefined, PASSWORD)).toBe(false);
  expect(await passwords.verify(undefined, '')).toBe(false);
});

it('holds a flood within its places: some are served, the rest refused, and then all is well again', async () => {
  const own = createPasswords();
  // A cheap one, since there are many; the queue does not know.
  const kept = await hash(PASSWORD, { memoryCost: 8, timeCost: 1 });
  const answers = await Promise.allSettled(Array.from({ length: 80 }, () => own.verify(kept, PASSWORD)));
  const served = answers.filter((answer) => answer.status === 'fulfilled');
  expect(served.length).toBeGreaterThanOrEqual(50);
  expect(served.length).toBeLessThan(80);
  expect(served.every(({ value }) => value)).toBe(true);
  expect(await own.verify(kept, PASSWORD)).toBe(true);
});
