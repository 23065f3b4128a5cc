import { randomBytes } from 'node:crypto';
import { toBase64 } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectRefusal, expectThat, sameOutside } from '../../check/expect.ts';
import type { SignatureDeviation } from '../../forge/signature.ts';
import { headerOf, withHeader } from '../../forge/tamper.ts';
import { withoutItsBody } from '../../forge/held-back.ts';
import type { RequestToSend } from '../../http/client.ts';
import {
  atEachEndpoint,
  hasBody,
  HEALTH,
  now,
  refusesSignatures,
  takesSignatures,
  withBody,
  type Attempts,
  type Place,
} from './signed-requests.ts';

/** Changes the MAC of a rightly signed request. */
function otherMacs(place: Place): Attempts {
  const withMac = (change: (mac: Buffer) => Uint8Array): Attempts[string] =>
    withHeader(place.sign(), 'signature', (value) => {
      const mac = Buffer.from(value.replace(/^sv=:|:$/g, ''), 'base64');
      return `sv=:${toBase64(change(mac))}:`;
    });
  const flipped = (at: number) => (mac: Buffer) => mac.map((byte, index) => (index === at ? byte ^ 1 : byte));
  return {
    'half of it': withMac((mac) => mac.subarray(0, 16)),
    'its first byte': withMac((mac) => mac.subarray(0, 1)),
    'nothing of it': withMac(() => new Uint8Array()),
    'a byte more': withMac((mac) => Buffer.concat([mac, Buffer.of(0)])),
    'its first bit changed': withMac(flipped(0)),
    'its last byte changed': withMac(flipped(31)),
    'nothing but zeros': withMac(() => new Uint8Array(32)),
    'that of another request': withHeader(place.sign(), 'signature', () =>
      headerOf(place.sign(), 'signature'),
    ),
  };
}

/** Protocol section 3.3: key, MAC and times. */
export const SIGNATURE_CHECKS: readonly Check[] = [
  refusesSignatures(
    {
      id: 'signature.wrong-key',
      title: 'a key id that names no key of the webhook is refused',
      requirements: ['SIG-44'],
    },
    ({ target }) => ({
      'with a key of its own': { key: { id: 'key-that-is-not-bound', secret: randomBytes(32) } },
      'with the bound key': { key: { ...target.key, id: 'key-that-is-not-bound' } },
      'with an empty key': { key: { id: 'key-that-is-not-bound', secret: new Uint8Array() } },
      'the one of an exchange, with the bound key': { key: { ...target.key, id: 'bind' } },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.forged-mac',
      title: 'a MAC by another key under the bound key id is refused',
      requirements: ['SIG-45'],
    },
    ({ target: { key } }) => ({
      'a random key': { key: { id: key.id, secret: randomBytes(32) } },
      'an empty key': { key: { id: key.id, secret: new Uint8Array() } },
      'the key id as key': { key: { id: key.id, secret: Buffer.from(key.id) } },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.partial-mac',
      title: 'anything but the whole MAC is refused',
      requirements: ['SIG-45'],
    },
    otherMacs,
  ),
  refusesSignatures(
    {
      id: 'signature.base-form',
      title: 'a MAC over a base with other line ends is refused',
      requirements: ['SIG-41'],
    },
    () => ({
      'a line feed at the end': { base: (right) => `${right}\n` },
      'CR LF between the lines': { base: (right) => right.replaceAll('\n', '\r\n') },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.expired',
      title: 'a request that expired more than 30 seconds ago is refused',
      requirements: ['SIG-49'],
    },
    () => ({
      '36 seconds ago': { created: now() - 90, expires: now() - 36 },
      'a year ago': { created: now() - 31_536_060, expires: now() - 31_536_000 },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.from-the-future',
      title: 'a request created more than 30 seconds ahead is refused',
      requirements: ['SIG-48'],
    },
    () => ({
      '40 seconds ahead': { created: now() + 40 },
      'a year ahead': { created: now() + 31_536_000 },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.long-lived',
      title: 'a request that would live longer than 60 seconds is refused',
      requirements: ['SIG-47'],
    },
    () => ({
      '61 seconds, from now on': { created: now(), expires: now() + 61 },
      '61 seconds, most of them over': { created: now() - 60, expires: now() + 1 },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.no-life',
      title: 'a request that expires when it is created, or before, is refused',
      requirements: ['SIG-47'],
    },
    () => ({
      'at the same second': { created: now(), expires: now() },
      'ten seconds before': { created: now(), expires: now() - 10 },
    }),
  ),
  takesSignatures(
    {
      id: 'signature.slow-clock',
      title: 'a service whose clock is 25 seconds ahead is accepted',
      requirements: ['SIG-50'],
    },
    () => ({ '25 seconds ahead': { created: now() + 25 } }),
  ),
  takesSignatures(
    {
      id: 'signature.late-arrival',
      title: 'a request that expired 25 seconds ago is accepted',
      requirements: ['SIG-50'],
    },
    () => ({ '25 seconds ago': { created: now() - 80, expires: now() - 25 } }),
  ),
  takesSignatures(
    {
      id: 'signature.lifetimes',
      title: 'requests that live for one second and for 60 seconds are accepted',
      requirements: ['SIG-50'],
    },
    () => ({
      'one second': { created: now(), expires: now() + 1 },
      '60 seconds': { created: now(), expires: now() + 60 },
      '60 seconds, all of them over': { created: now() - 65, expires: now() - 5 },
    }),
  ),
  {
    id: 'signature.before-the-body',
    title: 'a bad signature is refused before anybody reads the body',
    requirements: ['SIG-57'],
    run: async (tools) => {
      const key = { id: tools.target.key.id, secret: randomBytes(32) };
      const stale = { created: now() - 200, expires: now() - 140 };
      await variantsAtOnce(atEachEndpoint(tools), async ({ request }) => {
        for (const body of ['{', '{"op":"?"}'])
          expectRefusal(await tools.signed({ ...request(), body }, { key }), 'SIGNATURE_INVALID', body);
        const unread = await tools.signed({ ...request(), body: '{' }, stale);
        expectRefusal(unread, 'SIGNATURE_INVALID', 'stale and no JSON');
      });
    },
  },
  {
    id: 'signature.head-first',
    title: 'a bad signature is refused before the body has come',
    requirements: ['SIG-61'],
    run: async (tools) => {
      const key = { id: tools.target.key.id, secret: randomBytes(32) };
      await variantsAtOnce(atEachEndpoint(tools, hasBody), async ({ path, request, sign }) => {
        const heads: Readonly<Record<string, RequestToSend>> = {
          'a wrong MAC': sign({ key }),
          'too old': sign({ created: now() - 200, expires: now() - 140 }),
          // Of a request without signature only the body says whether it is a rotation.
          ...(path !== '/v1/exchange' && {
            'not signed': { ...request(), headers: [['content-type', 'application/json']], body: '' },
          }),
        };
        for (const [what, head] of Object.entries(heads))
          expectRefusal(await tools.send(withoutItsBody(head, 'SIG-61')), 'SIGNATURE_INVALID', what);
      });
    },
  },
  {
    id: 'signature.uniform',
    title: 'every refusal of a signature is the same bytes',
    requirements: ['SIG-58'],
    run: async (tools) => {
      const key = { id: tools.target.key.id, secret: randomBytes(32) };
      const wrongMac = await tools.signed(withBody(tools), { key });
      const others: Readonly<Record<string, SignatureDeviation>> = {
        'too old': { created: now() - 200 },
        'from the future': { created: now() + 100 },
        'too long a life': { expires: now() + 100 },
        'another tag': { tag: 'x' },
        'another label': { label: 'x' },
        'a key that is not known': { key: { id: 'x', secret: randomBytes(32) } },
        'a short nonce': { nonce: 'x' },
        'a digest that is not covered': {
          components: ['@method', '@authority', '@path', '@query', 'content-type'],
        },
        'a wrong digest': { contentDigest: `sha-256=:${toBase64(new Uint8Array(32))}:` },
      };
      const same = 'the bytes that a wrong MAC is answered with';
      await variantsAtOnce(atEachEndpoint(tools, hasBody), async ({ sign }) => {
        for (const [what, deviation] of Object.entries({ ...others, 'a wrong MAC': { key } })) {
          const other = await tools.send(sign(deviation));
          expectThat(sameOutside(wrongMac, other), other, `${same}: ${what}`);
        }
      });
      const used = tools.sign(HEALTH);
      await tools.send(used);
      const again = await tools.send(used);
      expectThat(sameOutside(wrongMac, again), again, `${same}, in the case: a used nonce`);
      const unsigned = await tools.send(HEALTH);
      expectThat(sameOutside(wrongMac, unsigned), unsigned, `${same}, in the case: not signed`);
    },
  },
];
