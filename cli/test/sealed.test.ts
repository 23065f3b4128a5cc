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
  service: string,
  ...more: readonly string[]
): Promise<{ readonly line: CommandLine; readonly jwk: string }> {
  const { key } = await people.agent(name, service);
  const line = people.stranger();
  const args = ['login', '--key', '-', '--base-url', people.pair.controlPlaneUrl(), ...more];
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

  // The control plane says that another agent has the reader's key: what it gets, it cannot open.
  await admin(['agents', 'edit', 'other', '--sealing-key', jwk]);
  expect(await other.line.svault(['get', 'sealed'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/came sealed to another key than the one that .* keeps/),
  });
});

test.each(['P-256', 'P-384', 'X25519'])(
  'a credential that is sealed to a key of %s is opened by the login that made the key',
  async (curve) => {
    const [name, service] = [`of-${curve}`, `sealed-to-${curve}`];
    const { line, jwk } = await signedIn(name, service, '--sealing-curve', curve);
    expect(JSON.parse(jwk)).toMatchObject({ crv: curve });
    const stored = await admin(['add', service, '--recipient', jwk], { input: 'for one alone' });
    expect(stored).toMatchObject({ code: 0 });
    expect(await admin(['agents', 'edit', name, '--sealing-key', jwk])).toMatchObject({ code: 0 });
    expect(await line.svault(['get', service])).toEqual({ code: 0, out: 'for one alone', err: '' });
    expect(people.pair.recorded().toString('latin1')).not.toContain('"accessToken":"for one alone"');
  },
);

test.each([
  ['a private key', { ...createSealingKey('X25519').privateJwk.reveal() }, /that is a private key/],
  ['a point that agrees on zeros', { kty: 'OKP', crv: 'X25519', x: 'A'.repeat(43) }, /no public JWK/],
  ['a curve that signs', { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }, /no public JWK/],
  ['a key type of another curve', { ...createSealingKey('X25519').publicJwk, kty: 'EC' }, /no public JWK/],
])('%s is no recipient, and nothing is named or stored', async (_what, jwk, said) => {
  const args = ['add', 'to-nobody', '--recipient', JSON.stringify(jwk)];
  const { code, err } = await admin(args, { input: 'x' });
  expect(code).toBe(2);
  expect(err).toMatch(said);
  expect((await admin(['show', 'to-nobody'])).code).toBe(4);
});

test('a sealing curve is for agents alone', async () => {
  const args = ['login', '--sealing-curve', 'X25519', '--base-url', people.pair.controlPlaneUrl()];
  const line = people.stranger();
  expect(await line.svault(args)).toMatchObject({ code: 2, err: expect.stringContaining('--sealing-curve') });
  const byKey = await line.svault([...args, '--key', '-'], { input: people.pair.adminKey });
  expect(byKey).toMatchObject({ code: 2, err: expect.stringContaining('--sealing-curve') });
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
