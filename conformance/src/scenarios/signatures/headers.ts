import { randomToken, toBase64 } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import type { SignatureDeviation } from '../../forge/signature.ts';
import { headerOf, withAnotherHeader, withHeader, withoutHeader } from '../../forge/tamper.ts';
import type { RequestToSend } from '../../http/client.ts';
import { refusesSignatures, takesSignatures, type Attempts, type Place } from './signed-requests.ts';

const PARAMETERS = ['created', 'expires', 'nonce', 'keyid', 'alg', 'tag'] as const;

const input = (place: Place, change: (value: string) => string): RequestToSend =>
  withHeader(place.sign(), 'signature-input', change);
const signature = (place: Place, change: (value: string) => string): RequestToSend =>
  withHeader(place.sign(), 'signature', change);

const without = (name: string): SignatureDeviation => ({
  parameters: (right) => right.replace(new RegExp(`;${name}=(?:"[^"]*"|\\d+)`), ''),
});
const written = (name: string, value: (right: string) => string): SignatureDeviation => ({
  parameters: (right) =>
    right.replace(new RegExp(`;${name}=("[^"]*"|\\d+)`), (_, before: string) => `;${name}=${value(before)}`),
});
const noInteger = (name: string): Readonly<Record<string, SignatureDeviation>> => ({
  [`${name} as a text`]: written(name, (right) => `"${right}"`),
  [`${name} with a fraction`]: written(name, (right) => `${right}.5`),
  [`${name} without a value`]: {
    parameters: (right) => right.replace(new RegExp(`${name}=\\d+`), name),
  },
});
const reordered =
  (order: (parameters: readonly string[]) => readonly string[]) =>
  (right: string): string =>
    `;${order(right.slice(1).split(';')).join(';')}`;

/** A rightly signed request whose MAC, in base64, has a character of the alphabet that base64url writes otherwise. */
function withCharacteristicMac(place: Place): RequestToSend {
  for (;;) {
    const request = place.sign();
    if (/[+/]/.test(headerOf(request, 'signature'))) return request;
  }
}

function doubled(place: Place): Attempts {
  const request = place.sign();
  const again = (name: string, value = headerOf(request, name)): RequestToSend =>
    withAnotherHeader(place.sign(), name, value);
  const first = (name: string, value: string): RequestToSend => {
    const { headers = [], ...rest } = place.sign();
    return { ...rest, headers: [[name, value], ...headers] };
  };
  const none = `sv=:${toBase64(new Uint8Array(32))}:`;
  return {
    'Signature twice, the second one wrong': again('signature', none),
    'Signature twice, the first one wrong': first('signature', none),
    'Signature twice, both the same': withAnotherHeader(request, 'signature', headerOf(request, 'signature')),
    'Signature-Input twice, the second one of another request': again('signature-input'),
    'Signature-Input twice, both the same': (() => {
      const right = place.sign();
      return withAnotherHeader(right, 'signature-input', headerOf(right, 'signature-input'));
    })(),
  };
}

/** Protocol section 3.2. */
export const SIGNATURE_HEADER_CHECKS: readonly Check[] = [
  refusesSignatures(
    {
      id: 'signature.missing',
      title: 'a request without both signature headers is refused',
      requirements: ['SIG-26'],
    },
    (place) => ({
      'without both': withoutHeader(withoutHeader(place.sign(), 'signature'), 'signature-input'),
      'without Signature': withoutHeader(place.sign(), 'signature'),
      'without Signature-Input': withoutHeader(place.sign(), 'signature-input'),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.doubled',
      title: 'a signature header that occurs twice is refused',
      requirements: ['SIG-26'],
    },
    doubled,
  ),
  refusesSignatures(
    {
      id: 'signature.several-members',
      title: 'a signature header with a member beside sv is refused',
      requirements: ['SIG-27'],
    },
    (place) => {
      const other = `sig1=("@method");created=1;nonce="${randomToken()}"`;
      return {
        'a member behind it in Signature-Input': input(place, (value) => `${value}, ${other}`),
        'a member before it in Signature-Input': input(place, (value) => `${other}, ${value}`),
        'a member behind it in Signature': signature(place, (value) => `${value}, sig1=:AAAA:`),
        'a member before it in Signature': signature(place, (value) => `sig1=:AAAA:, ${value}`),
        'a member beside it in both': withHeader(
          input(place, (value) => `${value}, ${other}`),
          'signature',
          (value) => `${value}, sig1=:AAAA:`,
        ),
      };
    },
  ),
  refusesSignatures(
    {
      id: 'signature.other-label',
      title: 'a signature under another label than sv is refused',
      requirements: ['SIG-27', 'SIG-33'],
    },
    () => ({ sig1: { label: 'sig1' }, sv2: { label: 'sv2' } }),
  ),
  refusesSignatures(
    {
      id: 'signature.other-tag',
      title: 'a signature with another tag is refused',
      requirements: ['SIG-32', 'SIG-33'],
    },
    () => ({
      'of another version': { tag: 'sv-webhook-v2' },
      'in capitals': { tag: 'SV-WEBHOOK-V1' },
      longer: { tag: 'sv-webhook-v1x' },
      empty: { tag: '' },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.other-algorithm',
      title: 'a signature that names another algorithm is refused',
      requirements: ['SIG-31', 'SIG-33'],
    },
    () => ({
      'hmac-sha512': { alg: 'hmac-sha512' },
      'HMAC-SHA256': { alg: 'HMAC-SHA256' },
      none: { alg: 'none' },
      empty: { alg: '' },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.parameter-missing',
      title: 'a signature that lacks one of the six parameters is refused',
      requirements: ['SIG-28'],
    },
    () => Object.fromEntries(PARAMETERS.map((name) => [`without ${name}`, without(name)])),
  ),
  refusesSignatures(
    {
      id: 'signature.parameter-unknown',
      title: 'a signature with a seventh parameter is refused',
      requirements: ['SIG-30'],
    },
    () => ({
      'behind the six': { parameters: (right) => `${right};context="x"` },
      'before the six': { parameters: (right) => `;x=1${right}` },
      'without a value': { parameters: (right) => `${right};x` },
    }),
  ),
  takesSignatures(
    {
      id: 'signature.parameter-order',
      title: 'the six parameters may stand in any order, and are signed as they were received',
      requirements: ['SIG-29', 'SIG-40', 'SIG-50'],
    },
    () => ({
      'the other way round': { parameters: reordered((all) => all.toReversed()) },
      'the key id first': { parameters: reordered((all) => [...all.slice(3), ...all.slice(0, 3)]) },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.times-not-integers',
      title: 'created and expires that are no integers are refused',
      requirements: ['SIG-34'],
    },
    () => ({ ...noInteger('created'), ...noInteger('expires') }),
  ),
  refusesSignatures(
    {
      id: 'signature.short-nonce',
      title: 'a nonce of fewer than 22 characters is refused',
      requirements: ['SIG-35'],
    },
    () => ({ '21 characters': { nonce: randomToken(16).slice(0, 21) }, 'no character': { nonce: '' } }),
  ),
  refusesSignatures(
    {
      id: 'signature.nonce-form',
      title: 'a nonce that is longer than 64 characters, or no base64url, is refused',
      requirements: ['SIG-35'],
    },
    () => {
      const start = randomToken(16).slice(1);
      return {
        '65 characters': { nonce: randomToken(49).slice(0, 65) },
        'with a plus sign': { nonce: `${start}+` },
        'with a slash': { nonce: `${start}/` },
        'with padding': { nonce: `${start}A==` },
        'with a space': { nonce: `${start} A` },
      };
    },
  ),
  takesSignatures(
    {
      id: 'signature.nonce-lengths',
      title: 'nonces of 22 and of 64 characters are accepted, with every character of base64url',
      requirements: ['SIG-35', 'SIG-50'],
    },
    () => ({
      '22 characters': { nonce: randomToken(16) },
      '64 characters': { nonce: randomToken(48) },
      'with a dash and an underscore': { nonce: `-_${randomToken(16)}-_` },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.key-id-form',
      title: 'a key id that is no key id, or only like the bound one, is refused',
      requirements: ['SIG-37', 'SIG-44'],
    },
    ({ target: { key } }) => {
      const named = (id: string): SignatureDeviation => ({ key: { ...key, id } });
      const [capitals, small] = [key.id.toUpperCase(), key.id.toLowerCase()];
      const likeIt = [capitals, small].find((each) => each !== key.id);
      return {
        empty: named(''),
        'longer by a character': named(`${key.id}x`),
        'with a space behind': named(`${key.id} `),
        'of 65 characters': named('k'.repeat(65)),
        'with other characters': named("%' or '1'='1"),
        ...(likeIt !== undefined && { 'in other letter case': named(likeIt) }),
      };
    },
  ),
  refusesSignatures(
    {
      id: 'signature.encoding',
      title: 'a MAC that is not base64 of the standard alphabet with padding is refused',
      requirements: ['SIG-42'],
    },
    (place) => ({
      'without padding': signature(place, (value) => value.replaceAll('=:', ':').replace('sv:', 'sv=:')),
      'in the alphabet of base64url': withHeader(withCharacteristicMac(place), 'signature', (value) =>
        value.replaceAll('+', '-').replaceAll('/', '_'),
      ),
      'with a space inside': signature(place, (value) => value.replace(/^(.{24})/, '$1 ')),
      'with a character that is none of base64': signature(place, (value) =>
        value.replace(/^(.{24})/, '$1!'),
      ),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.malformed',
      title: 'signature headers that cannot be read are refused like wrong ones',
      requirements: ['SIG-58'],
    },
    (place) => ({
      'an empty Signature': signature(place, () => ''),
      'an empty Signature-Input': input(place, () => ''),
      'a Signature-Input without a value': input(place, () => 'sv'),
      'a text in place of the list': input(place, () => 'sv="x"'),
      'a text in place of the MAC': signature(place, (value) => value.replace(/:(.*):/, '"$1"')),
      'a list without end': input(place, (value) => value.replace(')', '')),
      'a quote without end': input(place, (value) => value.slice(0, -1)),
      'no component': { components: [] },
      'a number as a component': {
        components: [...place.covered, { written: '1', value: '1' }],
      },
    }),
  ),
];
