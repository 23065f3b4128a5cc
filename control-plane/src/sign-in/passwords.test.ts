import { hash, parseOptions } from '@node-rs/argon2';
import { describe, expect, it } from 'vitest';
import { createPasswords, createWorkQueue, normalizePassword, problemOfPassword } from './passwords.ts';

describe('the rules for a new password', () => {
  const EMAIL = 'owner@example.org';

  it.each(['twelve chars', 'x'.repeat(11) + 'y', 'é'.repeat(64) + '🔑'.repeat(64), ' spaces count too '])(
    'allow %j',
    (text) => {
      expect(problemOfPassword(normalizePassword(text), EMAIL)).toBeUndefined();
    },
  );

  it.each([
    '',
    'eleven char',
    '🔑'.repeat(6),
    'x'.repeat(128) + 'y',
    'aaaaaaaaaaaaaaa',
    EMAIL,
    'Owner@EXAMPLE.org',
  ])('reject %j', (text) => {
    expect(problemOfPassword(normalizePassword(text), EMAIL)).toMatch(/^must /);
  });

  it('treat both spellings of an accent alike', () => {
    expect(normalizePassword('cafe\u0301')).toBe(normalizePassword('caf\u00E9'));
  });
});

describe('password hashes', () => {
  const passwords = createPasswords();
  const PASSWORD = 'correct horse battery staple';

  it('are Argon2id with the memory and passes that OWASP recommends, each with a new salt', async () => {
    const [first, second] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)]);
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(parseOptions(first)).toMatchObject({ saltLen: 16, outputLen: 32 });
    expect(second).not.toBe(first);
  });

  it('match the right password in both spellings of an accent, and no other', async () => {
    const stored = await passwords.hash('caf\u00E9 au lait, please');
    expect(await passwords.verify(stored, 'cafe\u0301 au lait, please')).toBe(true);
    expect(await passwords.verify(stored, 'cafe au lait, please')).toBe(false);
  });

  it('match no password of a user who has none', async () => {
    expect(await passwords.verify(undefined, PASSWORD)).toBe(false);
    expect(await passwords.verify(undefined, '')).toBe(false);
  });

  it('are computed for some attempts of a flood, while the others are rejected', async () => {
    const own = createPasswords();
    // Cheap, since there are many; the queue treats them alike.
    const stored = await hash(PASSWORD, { memoryCost: 8, timeCost: 1 });
    const answers = await Promise.allSettled(Array.from({ length: 80 }, () => own.verify(stored, PASSWORD)));
    const served = answers.filter((answer) => answer.status === 'fulfilled');
    expect(served.length).toBeGreaterThanOrEqual(50);
    expect(served.length).toBeLessThan(80);
    expect(served.every(({ value }) => value)).toBe(true);
    expect(await own.verify(stored, PASSWORD)).toBe(true);
  });
});

describe('the work queue', () => {
  it('runs a few pieces at a time, in their order, and rejects what may not wait', async () => {
    const queue = createWorkQueue({ running: 2, waiting: 3 });
    const ends: (() => void)[] = [];
    let [running, max] = [0, 0];
    const work = async (): Promise<void> => {
      max = Math.max(max, ++running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running--;
    };
    const results = Array.from({ length: 6 }, () => queue(work));
    await expect(results[5]).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { retryAfter: 2 } });
    for (let ended = 0; ended < 5; ended++) {
      while (ends.length <= ended) await Promise.resolve();
      ends[ended]?.();
    }
    await Promise.all(results.slice(0, 5));
    expect(max).toBe(2);
  });

  it('goes on after a piece of work that failed', async () => {
    const queue = createWorkQueue({ running: 1, waiting: 1 });
    await expect(queue(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(queue(() => Promise.resolve('done'))).resolves.toBe('done');
  });
});
