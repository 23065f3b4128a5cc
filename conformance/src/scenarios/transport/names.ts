import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { allOf, expectDelivered } from '../storage/holdings.ts';
import { expectError, resultsOf } from '../storage/batches.ts';

const CLAIMS = ['storage', 'credential', 'store'] as const;
const text = (value: string): object => ({ tokenType: 'PlainText', value });

/** Stores a text under a name and gets it back. */
async function expectTaken(tools: Tools, name: string, what: string): Promise<void> {
  const value = `canary of ${what}`;
  const stored = await tools.store(name, text(value));
  const returned = jsonObject(stored)?.['serviceName'];
  expectThat(
    stored.status === 200 && returned === name,
    stored,
    `200 and the name as it was sent, for ${what}`,
  );
  await expectDelivered(tools, name, value, `what was stored under ${what}`);
}

type Wrong = readonly [what: string, shape: (fresh: string) => string];

/** Where a wrong name is found, in the ticket or behind it, is the webhook's affair. */
function refuses(id: string, title: string, requirement: string, wrong: readonly Wrong[]): Check {
  return {
    id: `name.${id}`,
    title,
    requirements: [requirement, 'TIX-13'],
    claims: ['store'],
    run: async (tools) => {
      for (const [what, shape] of wrong) {
        const answer = await tools.store(tools.freshName(shape), text('canary of a wrong name'));
        const { code } = jsonObject(answer) ?? {};
        expectThat(
          (answer.status === 401 && code === 'TICKET_INVALID') ||
            (answer.status === 400 && code === 'INVALID_REQUEST'),
          answer,
          `401 TICKET_INVALID or 400 INVALID_REQUEST for ${what}`,
        );
      }
    },
  };
}

/** A name of so many bytes, most of them in characters of three. */
function ofBytes(fresh: string, bytes: number): string {
  const wide = '語'.repeat(Math.floor((bytes - fresh.length) / 3));
  return (fresh + wide).padEnd(fresh.length + wide.length + ((bytes - fresh.length) % 3), 'x');
}

/** What a path, a query, a log line or a JavaScript object might make something else of. */
const ODD: readonly Wrong[] = [
  ['a name of signs that an address gives a meaning', (fresh) => `${fresh}%2F%41 a+b?c=d&e;f#g`],
  ['a name of signs that a text gives a meaning', (fresh) => `..${fresh}'"\\<\`$`],
  ['a name of characters outside the basic plane', (fresh) => `${fresh}🔑ключ`],
  ['the name __proto__', () => '__proto__'],
  ['the name constructor', () => 'constructor'],
];

/** Names that compare as equal to somebody, though not byte for byte. */
const ALIKE: readonly (readonly [what: string, one: string, other: string])[] = [
  ['names that differ in letter case', 'name', 'NAME'],
  ['names whose letters look alike in another width', 'name', 'ｎame'],
  ['a ligature and its letters', 'ﬁle', 'file'],
  ['a percent escape and its character', '%41', 'A'],
  ['names that differ in inner spaces', 'a b', 'a  b'],
];

/** Protocol section 5, service names. */
export const NAME_CHECKS: readonly Check[] = [
  {
    id: 'name.longest',
    title: 'names of 128 characters and of 255 bytes are accepted',
    requirements: ['NAM-01'],
    claims: CLAIMS,
    run: async (tools) => {
      await expectTaken(
        tools,
        tools.freshName((fresh) => fresh.padEnd(128, 'x')),
        '128 characters',
      );
      await expectTaken(
        tools,
        tools.freshName((fresh) => ofBytes(fresh, 255)),
        '255 bytes',
      );
    },
  },
  {
    id: 'name.code-points',
    title: 'the 128 characters of a name are code points, however many units of UTF-16 they take',
    requirements: ['NAM-07'],
    claims: CLAIMS,
    run: (tools) =>
      expectTaken(
        tools,
        tools.freshName((fresh) => `${fresh}${'🔑'.repeat(42)}`.padEnd(128 + 42, 'x')),
        '128 characters, 42 of which take two units of UTF-16',
      ),
  },
  refuses('too-long', 'an empty name, one of 129 characters, and one of 256 bytes, is refused', 'NAM-01', [
    ['129 characters', (fresh) => fresh.padEnd(129, 'x')],
    ['256 bytes in fewer than 128 characters', (fresh) => ofBytes(fresh, 256)],
    ['a name of no character', () => ''],
  ]),
  refuses('decomposed', 'a name that is not in normalisation form C is refused', 'NAM-02', [
    ['a letter and its accent apart', (fresh) => `${fresh}e\u0301`],
    ['a sign that form C writes otherwise', (fresh) => `${fresh}\u212b`],
  ]),
  {
    id: 'name.composed',
    title: 'a name in normalisation form C is accepted, whatever form KC would make of it',
    requirements: ['NAM-02', 'NAM-06'],
    claims: CLAIMS,
    run: (tools) =>
      expectTaken(
        tools,
        tools.freshName((fresh) => `${fresh}é①`),
        'a composed name',
      ),
  },
  refuses('characters', 'a name with a slash or a control character is refused', 'NAM-03', [
    ['a slash', (fresh) => `${fresh}/x`],
    ['a slash at its end', (fresh) => `${fresh}/`],
    ['U+0000', (fresh) => `${fresh}\0x`],
    ['a line feed', (fresh) => `${fresh}\nx`],
    ['U+007F', (fresh) => `${fresh}\u007fx`],
    ['U+0085', (fresh) => `${fresh}\u0085x`],
  ]),
  refuses('white-space', 'a name with white space at either end is refused', 'NAM-04', [
    ['a space before', (fresh) => ` ${fresh}`],
    ['a space behind', (fresh) => `${fresh} `],
    ['U+00A0 before', (fresh) => `\u00a0${fresh}`],
    ['U+3000 behind', (fresh) => `${fresh}\u3000`],
  ]),
  refuses('dots', 'the names . and .. are refused', 'NAM-05', [
    ['one full stop', () => '.'],
    ['two full stops', () => '..'],
  ]),
  {
    id: 'name.in-proxy-config',
    title: 'a configuration for a wrong name is refused and not kept',
    requirements: ['NAM-01', 'NAM-02', 'NAM-03', 'NAM-04'],
    claims: ['storage', 'proxy'],
    run: async (tools) => {
      for (const shape of ['/', 'x'.repeat(128), 'e\u0301', ' ']) {
        const proxyId = tools.freshProxyId();
        const serviceName = `svault-conformance${shape}`;
        const config = { proxyId, serviceName, upstreamUrl: 'https://api.example/', headerTemplates: {} };
        const put = await tools.storage({ op: 'proxies.put', ...config });
        // There is no such record either, which somebody may find first.
        expectThat(put.status === 400 || put.status === 404, put, '400 for a name that is none');
        expectRefusal(await tools.storage({ op: 'proxies.get', proxyId }), 'NOT_FOUND');
      }
    },
  },
  {
    id: 'name.round-trip',
    title: 'an odd name means itself in a ticket, in an answer, in the list and in an operation',
    requirements: ['NAM-06', 'SAV-01'],
    claims: CLAIMS,
    run: async (tools) => {
      const names: string[] = [];
      for (const [what, shape] of ODD) {
        const plain = shape('');
        // These two may be an owner's own, which is not to be touched.
        const isFixed = plain === shape('x');
        if (isFixed && (await tools.storage({ op: 'tokens.get', serviceName: plain })).status !== 404)
          continue;
        const name = tools.freshName(shape);
        await expectTaken(tools, name, what);
        names.push(name);
      }
      const gets = names.map((serviceName) => ({ op: 'tokens.get', serviceName }));
      const got = await tools.storage({ batch: gets });
      for (const [index, result] of resultsOf(got, names.length).entries())
        expectThat(
          result['serviceName'] === names[index],
          got,
          `a token called ${JSON.stringify(names[index])}`,
        );
      const { answer, items } = await allOf(tools, { op: 'tokens.list', limit: 500 });
      const listed = new Set(items.map(({ serviceName }) => serviceName));
      for (const name of names)
        expectThat(listed.has(name), answer, `a list in which ${JSON.stringify(name)} stands`);
    },
  },
  {
    id: 'name.byte-for-byte',
    title: 'names that only look alike are two',
    requirements: ['NAM-06'],
    claims: CLAIMS,
    run: async (tools) => {
      const others: string[] = [];
      for (const [, one, other] of ALIKE) {
        const name = tools.freshName((fresh) => fresh + one);
        expectOk(await tools.store(name, text('canary of the one')));
        others.push(tools.freshName(() => name.slice(0, -one.length) + other));
      }
      const gets = others.map((serviceName) => ({ op: 'tokens.get', serviceName }));
      const answer = await tools.storage({ batch: gets });
      for (const [index, result] of resultsOf(answer, others.length).entries())
        expectError(answer, result, 'NOT_FOUND', `a get of the other of ${ALIKE[index]?.[0]}`);
      for (const [index, name] of others.slice(0, 3).entries()) {
        const fetched = await tools.fetchCredential(tools.ticket('credential', name));
        expectRefusal(fetched, 'NOT_FOUND', `the other of ${ALIKE[index]?.[0]}`);
      }
    },
  },
];
