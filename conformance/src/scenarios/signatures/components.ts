import { contentDigest, utf8 } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { CONTENT_COMPONENTS, DERIVED_COMPONENTS, type Component } from '../../forge/signature.ts';
import { withHeader, withoutHeader } from '../../forge/tamper.ts';
import type { RequestToSend } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';
import { HEALTH, refusesSignatures, takesSignatures, withBody, type Attempt } from './signed-requests.ts';

const ALL: readonly string[] = [...DERIVED_COMPONENTS, ...CONTENT_COMPONENTS];
const except = (...names: readonly string[]): readonly string[] =>
  ALL.filter((each) => !names.includes(each));
const beside = (...more: readonly Component[]): Attempt => ({ components: [...ALL, ...more] });

/** A field that nobody knows, for a signature to cover. */
const FIELD = 'x-conformance';

/** A signed request that carries {@link FIELD} so often, and covers it with this value or with what is sent. */
function withField(tools: Tools, values: readonly string[], covered?: string): RequestToSend {
  const headers = values.map((value) => [FIELD, value] as const);
  const component = covered === undefined ? FIELD : { written: `"${FIELD}"`, value: covered };
  return tools.sign({ ...HEALTH, headers }, { components: [...DERIVED_COMPONENTS, component] });
}

/** A signed request that carries a field of its content twice, and covers it with the first value. */
function withTwice(tools: Tools, name: string): RequestToSend {
  const request = withBody(tools);
  const right = tools.sign(request).headers?.find(([each]) => each === name)?.[1] ?? '';
  const components = ALL.map((each) => (each === name ? { written: `"${name}"`, value: right } : each));
  return tools.sign({ ...request, headers: [[name, right]] }, { components });
}

/** Protocol section 3.1: what has to be covered, and how. */
export const SIGNATURE_COMPONENT_CHECKS: readonly Check[] = [
  refusesSignatures(
    {
      id: 'signature.uncovered-digest',
      title: 'a body whose digest the signature does not cover is refused',
      requirements: ['SIG-02'],
    },
    () => ({
      'the digest is sent and not covered': { components: except('content-digest') },
      'no digest is sent': { leavesOut: ['content-digest'] },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-type',
      title: 'a body whose content type the signature does not cover is refused',
      requirements: ['SIG-02'],
    },
    () => ({
      'the type is sent and not covered': { components: except('content-type') },
      'no type is sent': { leavesOut: ['content-type'] },
      'neither type nor digest is sent': { leavesOut: CONTENT_COMPONENTS },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-method',
      title: 'a signature that does not cover the method is refused',
      requirements: ['SIG-05'],
    },
    () => ({ 'without @method': { components: except('@method') } }),
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-target',
      title: 'a signature that does not cover authority, path and query is refused',
      requirements: ['SIG-05'],
    },
    () => ({
      'without @authority': { components: except('@authority') },
      'without @path': { components: except('@path') },
      'without @query': { components: except('@query') },
    }),
  ),
  takesSignatures(
    {
      id: 'signature.any-order',
      title: 'covered components may stand in any order',
      requirements: ['SIG-22'],
    },
    () => ({
      'the other way round': { components: ALL.toReversed() },
      'the content first': { components: [...CONTENT_COMPONENTS, ...DERIVED_COMPONENTS] },
    }),
    withBody,
  ),
  takesSignatures(
    {
      id: 'signature.extra-field',
      title: 'further header fields may be covered',
      requirements: ['SIG-07', 'SIG-50'],
    },
    (tools) => ({
      'one field': withField(tools, ['a, b;c="d"']),
      'a field whose name is sent with capitals': withCapitals(withField(tools, ['a'])),
      'a field that is not covered': tools.sign({ ...HEALTH, headers: [[FIELD, 'a']] }),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.extra-field-tampered',
      title: 'a further header field that is covered is verified',
      requirements: ['SIG-07', 'SIG-20'],
    },
    (tools) => ({
      'changed on its way': withHeader(withField(tools, ['a']), FIELD, () => 'b'),
      'in other letter case': withHeader(withField(tools, ['a']), FIELD, () => 'A'),
      'removed on its way': withoutHeader(withField(tools, ['a']), FIELD),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.unknown-component',
      title: 'a covered component that is neither one of the four nor a header field is refused',
      requirements: ['SIG-08'],
    },
    (tools) => {
      const { webhookUrl } = tools.target;
      const { host, protocol, pathname } = new URL(webhookUrl + withBody(tools).path);
      return {
        '@scheme': beside({ written: '"@scheme"', value: protocol.slice(0, -1) }),
        '@target-uri': beside({ written: '"@target-uri"', value: webhookUrl + withBody(tools).path }),
        '@request-target': beside({ written: '"@request-target"', value: pathname }),
        '@host, which nobody defined': beside({ written: '"@host"', value: host }),
      };
    },
  ),
  refusesSignatures(
    {
      id: 'signature.covered-absent',
      title: 'a covered field that is absent is refused',
      requirements: ['SIG-20'],
    },
    () => ({
      'signed as empty': { components: [...ALL, FIELD] },
      'sv-ticket, signed as empty': { components: [...ALL, 'sv-ticket'] },
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.covered-twice',
      title: 'a covered field that appears twice is refused',
      requirements: ['SIG-21'],
    },
    (tools) => ({
      'signed with both values': withField(tools, ['a', 'b']),
      'signed with the first value': withField(tools, ['a', 'b'], 'a'),
      'signed with the last value': withField(tools, ['a', 'b'], 'b'),
      'the same value twice': withField(tools, ['a', 'a'], 'a'),
      'the same content-digest twice': withTwice(tools, 'content-digest'),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.component-twice',
      title: 'a component that appears twice in the list is refused',
      requirements: ['SIG-23'],
    },
    () => ({
      '@method twice': beside('@method'),
      'content-digest twice, side by side': beside('content-digest'),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.component-capitals',
      title: 'a component that is not in lower case is refused',
      requirements: ['SIG-24'],
    },
    (tools) => ({
      '@Method for @method': {
        components: [{ written: '"@Method"', value: 'POST' }, ...except('@method')],
      },
      'Content-Type for content-type': {
        components: [...except('content-type'), { written: '"Content-Type"', value: 'application/json' }],
      },
      'Content-Digest for content-digest': {
        components: [
          ...except('content-digest'),
          { written: '"Content-Digest"', value: contentDigest(utf8(withBody(tools).body)) },
        ],
      },
      'a further field': tools.sign(
        { ...HEALTH, headers: [[FIELD, 'a']] },
        { components: [...DERIVED_COMPONENTS, { written: '"X-Conformance"', value: 'a' }] },
      ),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.component-parameters',
      title: 'a component with parameters is refused',
      requirements: ['SIG-25'],
    },
    (tools) => ({
      '"@query";req': { components: [...except('@query'), { written: '"@query";req', value: '?' }] },
      '"@method";req': { components: [...except('@method'), { written: '"@method";req', value: 'POST' }] },
      '"content-type";sf': {
        components: [...except('content-type'), { written: '"content-type";sf', value: 'application/json' }],
      },
      '"x-conformance";tr beside all others': tools.sign(
        { ...HEALTH, headers: [[FIELD, 'a']] },
        { components: [...DERIVED_COMPONENTS, { written: `"${FIELD}";tr`, value: 'a' }] },
      ),
    }),
  ),
  takesSignatures(
    {
      id: 'signature.field-as-received',
      title: 'a field’s value is used as received, without the spaces and tabs around it',
      requirements: ['SIG-19'],
    },
    (tools) => ({
      'spaces and tabs around a further field': withHeader(
        withField(tools, ['a']),
        FIELD,
        (value) => ` \t ${value} \t`,
      ),
      'a tab and spaces around the content type': withHeader(
        tools.sign(withBody(tools)),
        'content-type',
        (value) => `\t${value}  `,
      ),
      'spaces and a tab around the digest': withHeader(
        tools.sign(withBody(tools)),
        'content-digest',
        (value) => `  ${value}\t`,
      ),
      'two spaces within a further field': withField(tools, ['a,  b ;  C="D"']),
      'a content type with parameters': tools.sign(withBody(tools), {
        contentType: 'application/json;charset="UTF-8";  Version=1',
      }),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.type-tampered',
      title: 'a content type that differs from the signed one is refused',
      requirements: ['SIG-07', 'SIG-19'],
    },
    (tools) => ({
      'a parameter added': withHeader(
        tools.sign(withBody(tools)),
        'content-type',
        (value) => `${value};charset=utf-8`,
      ),
      'a parameter taken away': withHeader(
        tools.sign(withBody(tools), { contentType: 'application/json;charset=utf-8' }),
        'content-type',
        () => 'application/json',
      ),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.uncovered-ticket',
      title: 'an sv-ticket that the signature does not cover is refused',
      requirements: ['SIG-10'],
    },
    (tools) => {
      const headers = [['sv-ticket', tools.ticket('proxy', 'a name')]] as const;
      return {
        'with a body': tools.sign({ ...withBody(tools), headers }, { components: ALL }),
        'without a body': tools.sign({ ...HEALTH, headers }, { components: DERIVED_COMPONENTS }),
      };
    },
  ),
];

const withCapitals = (request: RequestToSend): RequestToSend => ({
  ...request,
  headers: (request.headers ?? []).map(([name, value]) => [name === FIELD ? 'X-Conformance' : name, value]),
});
