import { createSealingKey } from '@svault/shared/sealed';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CommandLine } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
let admin: CommandLine['svault'];
beforeAll(async () => {
  people = await pairAndPeople();
  admin = people.admin.svault;
});
afterAll(() => people.close());

/** An agent that signed in by its key, and the public key that this made. */
async function signedIn(
  name: string,
  ...services: readonly string[]
): Promise<{ readonly line: CommandLine; readonly jwk: string }> {
  const { key } = await people.agent(name, ...services);
  const line = people.stranger();
  const args = ['login', '--key', '-', '--base-url', people.pair.controlPlaneUrl()];
  const { code, out } = await line.svault(args, { input: key });
  expect(code).toBe(0);
  return { line, jwk: out.trim() };
}

test('a sealed credential is opened by the login that it is for, and by no other', async () => {
  const { line, jwk } = await signedIn('reader', 'sealed');
  const other = await signedIn('other', 'sealed');
  const stored = await admin(['add', 'sealed', '--recipient', jwk], { input: 'for one alone' });
  expect(stored).toMatchObject({ code: 0 });
  expect(await line.svault(['get', 'sealed'])).toMatchObject({ code: 3, out: '' });
  expect(await admin(['agents', 'edit', 'reader', '--sealing-key', jwk])).toMatchObject({ code: 0 });
  expect(await line.svault(['get', 'sealed'])).toEqual({ code: 0, out: 'for one alone', err: '' });
  expect(await line.svault(['get', '--check', 'sealed'])).toMatchObject({ code: 0, out: '' });
  const json = JSON.parse((await line.svault(['get', 'sealed', '--format', 'json'])).out);
  expect(json).toMatchObject({ accessToken: 'for one alone', serviceName: 'sealed' });
  expect(people.pair.recorded().toString('latin1')).not.toContain(`"accessToken":"for one alone"`);

  // The service says that another agent has the reader's key: what it gets, it cannot open.
  await admin(['agents', 'edit', 'other', '--sealing-key', jwk]);
  expect(await other.line.svault(['get', 'sealed'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/came sealed to another key than the one that .* keeps/),
  });
});

test('a login without a sealing key says how to get one', async () => {
  const { publicJwk } = createSealingKey();
  const jwk = JSON.stringify(publicJwk);
  await admin(['add', 'sealed-2', '--recipient', jwk], { input: 'x' });
  const agent = await people.agent('keyless', 'sealed-2');
  await admin(['agents', 'edit', 'keyless', '--sealing-key', jwk]);
  expect(await agent.svault(['get', 'sealed-2'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/came sealed, and env keeps no key that opens it: svault login --key/),
  });
});
