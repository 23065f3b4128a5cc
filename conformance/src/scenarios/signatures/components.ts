import { contentDigest, utf8 } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { CONTENT_COMPONENTS, type Component } from '../../forge/signature.ts';
import { withHeader, withoutHeader } from '../../forge/tamper.ts';
import type { RequestToSend } from '../../http/client.ts';
import { hasBody, refusesSignatures, takesSignatures, type Attempt, type Place } from './signed-requests.ts';

const except = ({ covered }: Place, ...names: readonly string[]): readonly string[] =>
  covered.filter((each) => !names.includes(each));
const beside = ({ covered }: Place, ...more: readonly Component[]): Attempt => ({
  components: [...covered, ...more],
});

/** A field that nobody knows, for a signature to cover. */
const FIELD = 'x-conformance';

/** A signed request that carries {@link FIELD} so often, and covers it with this value or with what is sent. */
function withField(place: Place, values: readonly string[], covered?: string): RequestToSend {
  const headers = values.map((value) => [FIELD, value] as const);
  const component = covered === undefined ? FIELD : { written: `"${FIELD}"`, value: covered };
  return place.sign({ components: [...place.covered, component] }, { headers });
}

/** A signed request that carries a field of its content twice, and covers it with the first value. */
function withTwice(place: Place, name: string): RequestToSend {
  const right = place.sign().headers?.find(([each]) => each === name)?.[1] ?? '';
  const components = place.covered.map((each) =>
    each === name ? { written: `"${name}"`, value: right } : each,
  );
  return place.sign({ components }, { headers: [[name, right]] });
}

/** Protocol section 3.1: what has to be covered, and how. */
export const SIGNATURE_COMPONENT_CHECKS: readonly Check[] = [
  refusesSignatures(
    {
      id: 'signature.uncovered-digest',
      title: 'a body whose digest the signature does not cover is refused',
      requirements: ['SIG-02'],
    },
    (place) => ({
      'the digest is sent and not covered': { components: except(place, 'content-digest') },
      'no digest is sent': { leavesOut: ['content-digest'] },
    }),
    hasBody,
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-type',
      title: 'a body whose content type the signature does not cover is refused',
      requirements: ['SIG-02'],
    },
    (place) => ({
      'the type is sent and not covered': { components: except(place, 'content-type') },
      'no type is sent': { leavesOut: ['content-type'] },
      'neither type nor digest is sent': { leavesOut: CONTENT_COMPONENTS },
    }),
    hasBody,
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-method',
      title: 'a signature that does not cover the method is refused',
      requirements: ['SIG-05'],
    },
    (place) => ({ 'without @method': { components: except(place, '@method') } }),
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-target',
      title: 'a signature that does not cover authority, path and query is refused',
      requirements: ['SIG-05'],
    },
    (place) => ({
      'without @authority': { components: except(place, '@authority') },
      'without @path': { components: except(place, '@path') },
      'without @query': { components: except(place, '@query') },
    }),
  ),
  takesSignatures(
    {
      id: 'signature.any-order',
      title: 'covered components may stand in any order',
      requirements: ['SIG-22'],
    },
    (place) => ({
      'the other way round': { components: place.covered.toReversed() },
      'the last one first': { components: [...place.covered.slice(-1), ...place.covered.slice(0, -1)] },
    }),
  ),
  takesSignatures(
    {
      id: 'signature.extra-field',
      title: 'further header fields may be covered',
      requirements: ['SIG-07', 'SIG-50'],
    },
    (place) => ({
      'one field': withField(place, ['a, b;c="d"']),
      'a field whose name is sent with capitals': withCapitals(withField(place, ['a'])),
      'a field that is not covered': place.sign({}, { headers: [[FIELD, 'a']] }),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.extra-field-tampered',
      title: 'a further header field that is covered is verified',
      requirements: ['SIG-07', 'SIG-20'],
    },
    (place) => ({
      'changed on its way': withHeader(withField(place, ['a']), FIELD, () => 'b'),
      'in other letter case': withHeader(withField(place, ['a']), FIELD, () => 'A'),
      'removed on its way': withoutHeader(withField(place, ['a']), FIELD),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.unknown-component',
      title: 'a covered component that is neither one of the four nor a header field is refused',
      requirements: ['SIG-08'],
    },
    (place) => {
      const { href, host, protocol, pathname } = new URL(place.target.webhookUrl + place.path);
      return {
        '@scheme': beside(place, { written: '"@scheme"', value: protocol.slice(0, -1) }),
        '@target-uri': beside(place, { written: '"@target-uri"', value: href }),
        '@request-target': beside(place, { written: '"@request-target"', value: pathname }),
        '@host, which nobody defined': beside(place, { written: '"@host"', value: host }),
      };
    },
  ),
  refusesSignatures(
    {
      id: 'signature.covered-absent',
      title: 'a covered field that is absent is refused',
      requirements: ['SIG-20'],
    },
    (place) => ({
      'signed as empty': beside(place, FIELD),
      ...(!place.covered.includes('sv-ticket') && {
        'sv-ticket, signed as empty': beside(place, 'sv-ticket'),
      }),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.covered-twice',
      title: 'a covered field that appears twice is refused',
      requirements: ['SIG-21'],
    },
    (place) => ({
      'signed with both values': withField(place, ['a', 'b']),
      'signed with the first value': withField(place, ['a', 'b'], 'a'),
      'signed with the last value': withField(place, ['a', 'b'], 'b'),
      'the same value twice': withField(place, ['a', 'a'], 'a'),
      ...(place.body !== '' && { 'the same content-digest twice': withTwice(place, 'content-digest') }),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.component-twice',
      title: 'a component that appears twice in the list is refused',
      requirements: ['SIG-23'],
    },
    (place) => ({
      '@method twice': beside(place, '@method'),
      'the last one twice, side by side': beside(place, ...place.covered.slice(-1)),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.component-capitals',
      title: 'a component that is not in lower case is refused',
      requirements: ['SIG-24'],
    },
    (place) => ({
      '@Method for @method': {
        components: [{ written: '"@Method"', value: 'POST' }, ...except(place, '@method')],
      },
      'Content-Type for content-type': {
        components: [
          ...except(place, 'content-type'),
          { written: '"Content-Type"', value: 'application/json' },
        ],
      },
      'Content-Digest for content-digest': {
        components: [
          ...except(place, 'content-digest'),
          { written: '"Content-Digest"', value: contentDigest(utf8(place.body)) },
        ],
      },
      'a further field': place.sign(
        { components: [...place.covered, { written: '"X-Conformance"', value: 'a' }] },
        { headers: [[FIELD, 'a']] },
      ),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.component-parameters',
      title: 'a component with parameters is refused',
      requirements: ['SIG-25'],
    },
    (place) => ({
      '"@query";req': { components: [...except(place, '@query'), { written: '"@query";req', value: '?' }] },
      '"@method";req': {
        components: [...except(place, '@method'), { written: '"@method";req', value: 'POST' }],
      },
      '"content-type";sf': {
        components: [
          ...except(place, 'content-type'),
          { written: '"content-type";sf', value: 'application/json' },
        ],
      },
      '"x-conformance";tr beside all others': place.sign(
        { components: [...place.covered, { written: `"${FIELD}";tr`, value: 'a' }] },
        { headers: [[FIELD, 'a']] },
      ),
    }),
  ),
  takesSignatures(
    {
      id: 'signature.field-as-received',
      title: 'a field’s value is used as received, without the spaces and tabs around it',
      requirements: ['SIG-19'],
    },
    (place) => ({
      'spaces and tabs around a further field': withHeader(
        withField(place, ['a']),
        FIELD,
        (value) => ` \t ${value} \t`,
      ),
      'a tab and spaces around the content type': withHeader(
        place.sign(),
        'content-type',
        (value) => `\t${value}  `,
      ),
      'spaces and a tab around the digest': withHeader(
        place.sign(),
        'content-digest',
        (value) => `  ${value}\t`,
      ),
      'two spaces within a further field': withField(place, ['a,  b ;  C="D"']),
      'a content type with parameters': place.sign({
        contentType: 'application/json;charset="UTF-8";  Version=1',
      }),
    }),
    hasBody,
  ),
  refusesSignatures(
    {
      id: 'signature.type-tampered',
      title: 'a content type that differs from the signed one is refused',
      requirements: ['SIG-07', 'SIG-19'],
    },
    (place) => ({
      'a parameter added': withHeader(place.sign(), 'content-type', (value) => `${value};charset=utf-8`),
      'a parameter taken away': withHeader(
        place.sign({ contentType: 'application/json;charset=utf-8' }),
        'content-type',
        () => 'application/json',
      ),
    }),
    hasBody,
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-ticket',
      title: 'an sv-ticket that the signature does not cover is refused',
      requirements: ['SIG-10'],
    },
    (place) => {
      const components = except(place, 'sv-ticket');
      const headers = [['sv-ticket', place.tools.ticket('proxy', 'a name')]] as const;
      const hasOne = components.length < place.covered.length;
      return { 'sent and not covered': place.sign({ components }, hasOne ? {} : { headers }) };
    },
  ),
];

const withCapitals = (request: RequestToSend): RequestToSend => ({
  ...request,
  headers: (request.headers ?? []).map(([name, value]) => [name === FIELD ? 'X-Conformance' : name, value]),
});
