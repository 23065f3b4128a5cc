import type { Capability } from '@svault/shared/schemas';
import type { Check } from '../../check/check.ts';
import { eachVariant, variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';
import { HEALTH } from '../signatures/signed-requests.ts';

import { LIST, storage, storeBytes } from './raw-bodies.ts';

/** JSON that a reader of protocol section 2 refuses, made of an object's members and one of their names. */
function wrongJson(members: string, name: string): Readonly<Record<string, string | Uint8Array>> {
  const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
  return {
    'a member twice': `{"${name}":"x",${members}}`,
    'a member twice, the right one first': `{${members},"${name}":"x"}`,
    'a member twice, once written with an escape': `{${members},"${escaped}":"x"}`,
    'a byte order mark': `\uFEFF{${members}}`,
    'no JSON': `{${members}`,
    'something behind the object': `{${members}}x`,
    'two objects': `{${members}}{}`,
    'a list': `[{${members}}]`,
    'a text': JSON.stringify(`{${members}}`),
    'a number': '7',
    null: 'null',
  };
}

/** An unknown member, so that a body has this many levels. */
function nested(levels: number, open: string, close: string): string {
  return `{${LIST},"x":${open.repeat(levels - 1)}0${close.repeat(levels - 1)}}`;
}

const WRITTEN_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function expectWritten(
  answer: Answer,
  members: Readonly<Record<string, unknown>>,
  names: readonly string[],
): void {
  for (const name of names) {
    const value = members[name];
    const holds = typeof value === 'string' && WRITTEN_TIME.test(value);
    expectThat(holds, answer, `${name} as YYYY-MM-DDTHH:MM:SS.sssZ`);
  }
}

/** Protocol section 2: which JSON is read, and how it is written. */
export const JSON_CHECKS: readonly Check[] = [
  {
    id: 'json.one-object',
    title: 'a body that is not one JSON object is answered with 400',
    requirements: ['TRN-02', 'TRN-33'],
    claims: ['storage'],
    run: (tools) => {
      const {
        'no JSON': broken = '',
        'something behind the object': trailing = '',
        'two objects': two = '',
        'a list': list = '',
        'a text': quoted = '',
        'a number': number = '',
        null: none = '',
      } = wrongJson(LIST, 'op');
      return variantsAtOnce(
        {
          'no JSON': broken,
          'something behind the object': trailing,
          'two objects': two,
          'a list': list,
          'a text': quoted,
          'a number': number,
          null: none,
          'a space alone': ' ',
          'single quotes': `{${LIST}}`.replaceAll('"', "'"),
          'a comma at the end': `{${LIST},}`,
          'a comment': `{${LIST}/* x */}`,
          'NaN for a number': `{${LIST},"x":NaN}`,
          'bytes that are no UTF-8': Buffer.concat([
            Buffer.from(`{${LIST},"x":"`),
            Buffer.of(0xc3, 0x28),
            Buffer.from('"}'),
          ]),
          'UTF-16': Buffer.from(`{${LIST}}`, 'utf16le'),
        },
        async (body) => expectRefusal(await storage(tools, body), 'INVALID_REQUEST'),
      );
    },
  },
  {
    id: 'json.byte-order-mark',
    title: 'JSON with a byte order mark is refused',
    requirements: ['TRN-03'],
    claims: ['storage'],
    run: async (tools) => expectRefusal(await storage(tools, `\uFEFF{${LIST}}`), 'INVALID_REQUEST'),
  },
  {
    id: 'json.depth',
    title: 'JSON is read down to 32 levels and refused from 33 on',
    requirements: ['TRN-04'],
    claims: ['storage'],
    run: async (tools) => {
      const shapes = { lists: ['[', ']'], objects: ['{"x":', '}'] } as const;
      await eachVariant(shapes, async ([open, close]) => {
        expectOk(await storage(tools, nested(32, open, close)));
        expectRefusal(await storage(tools, nested(33, open, close)), 'INVALID_REQUEST', '33 levels');
      });
      const brackets = `{${LIST},"x":"${'['.repeat(40)}"}`;
      expectOk(await storage(tools, brackets));
    },
  },
  {
    id: 'json.repeated-name',
    title: 'an object in which a member name appears twice is refused',
    requirements: ['TRN-05'],
    claims: ['storage'],
    run: (tools) =>
      variantsAtOnce(
        {
          'the same value twice': `{${LIST},"limit":1}`,
          'the wrong one first': `{"limit":0,${LIST}}`,
          'the wrong one last': `{${LIST},"limit":0}`,
          'once written with an escape': `{${LIST},"\\u006fp":"tokens.list"}`,
          'in an object within': `{${LIST},"x":{"a":1,"a":2}}`,
          'in a list within': `{${LIST},"x":[{"a":1,"b":{},"a":2}]}`,
        },
        async (body) => expectRefusal(await storage(tools, body), 'INVALID_REQUEST'),
      ),
  },
  {
    id: 'json.at-each-endpoint',
    title: 'JSON that a reader must refuse is refused at each signed endpoint',
    requirements: ['TRN-02', 'TRN-03', 'TRN-04', 'TRN-05'],
    run: async (tools) => {
      const endpoints: ReadonlyArray<
        readonly [path: string, claim: Capability | undefined, members: string]
      > = [
        ['/v1/health', undefined, '"x":1'],
        ['/v1/exchange', undefined, '"op":"none"'],
        ['/v1/storage', 'storage', LIST],
        ['/v1/refresh-notify', 'refresh-notify', '"serviceName":"svault-conformance","reason":"expired"'],
        ['/v1/refresh', 'sv-refresh', '"phase":"get","serviceName":"svault-conformance"'],
      ];
      const claimed = endpoints.filter(([, claim]) => claim === undefined || tools.claims.has(claim));
      for (const [path, , members] of claimed)
        await variantsAtOnce(
          {
            ...wrongJson(members, /"(\w+)"/.exec(members)?.[1] ?? ''),
            'a list at level 33': `{${members},"y":${'['.repeat(32)}${']'.repeat(32)}}`,
          },
          async (body) =>
            expectRefusal(await tools.signed({ method: 'POST', path, body }), 'INVALID_REQUEST', path),
        );
    },
  },
  {
    id: 'json.same-name-elsewhere',
    title: 'a member name may stand in several objects, and in values',
    requirements: ['TRN-05', 'TRN-11'],
    claims: ['storage'],
    run: async (tools) => {
      expectOk(await storage(tools, `{${LIST},"x":{"op":1,"x":{"op":2}},"y":[{"a":1},{"a":2}],"z":"op"}`));
    },
  },
  {
    id: 'json.name-case',
    title: 'member names are compared with their letter case',
    requirements: ['TRN-06', 'TRN-11'],
    claims: ['storage'],
    run: async (tools) => {
      expectRefusal(await storage(tools, '{"OP":"tokens.list"}'), 'INVALID_REQUEST', 'OP for op');
      expectOk(await storage(tools, `{${LIST},"Op":"nothing","LIMIT":0}`));
      expectOk(await storage(tools, `{"OP":"nothing","Limit":"x",${LIST}}`));
    },
  },
  {
    id: 'json.null',
    title: 'an optional member that is null is read as absent',
    requirements: ['TRN-10'],
    claims: ['storage'],
    run: async (tools) => {
      expectOk(await storage(tools, '{"op":"tokens.list","limit":1,"cursor":null,"expiresBefore":null}'));
      expectOk(await storage(tools, '{"op":"tokens.list","limit":null}'));
    },
  },
  {
    id: 'json.unknown-members',
    title: 'members that nobody knows are ignored',
    requirements: ['TRN-11'],
    claims: ['storage'],
    run: async (tools) => {
      expectOk(await storage(tools, `{${LIST},"x":1,"region":"here","nested":{"y":[true,null]}}`));
      expectOk(await tools.signed({ ...HEALTH, body: '{"x":1}' }));
    },
  },
  {
    id: 'json.at-store',
    title: 'what is not one right JSON object is refused at /v1/store, and nothing is stored',
    requirements: ['TRN-02', 'TRN-03', 'TRN-05', 'TRN-06'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      const members = '"tokenType":"PlainText","value":"canary"';
      const wrong = { ...wrongJson(members, 'value'), 'VALUE for value': members.replace('value', 'VALUE') };
      await eachVariant(wrong, async (body) =>
        expectRefusal(await storeBytes(tools, name, body, 'application/json'), 'INVALID_REQUEST'),
      );
      // A ticket for a record that is not there yet: nothing was stored so far.
      expectOk(await tools.store(name, `{${members}}`, { claims: { ifv: 0 } }));
    },
  },
  {
    id: 'json.writes-integers',
    title: 'integers are written without fraction and exponent',
    requirements: ['TRN-07'],
    claims: ['store'],
    run: async (tools) => {
      const answer = await tools.store(tools.freshName(), { tokenType: 'PlainText', value: 'x' });
      expectOk(answer);
      // A name may be written with escapes.
      const plain = text(answer).replace(/\\u00([2-7][0-9a-f])/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
      expectThat(/"version"\s*:\s*\d+\s*[,}]/.test(plain), answer, 'version as an integer, such as 1');
    },
  },
  {
    id: 'json.writes-times',
    title: 'times that the webhook takes itself are written with three digits after the second, in UTC',
    requirements: ['TRN-13'],
    run: async (tools) => {
      const health = await tools.signed(HEALTH);
      expectWritten(health, expectOk(health), ['time']);
      if (!tools.claims.has('store') || !tools.claims.has('storage')) return;
      const { name } = await tools.given.text();
      const answer = await tools.storage({ op: 'tokens.get', serviceName: name });
      expectWritten(answer, expectOk(answer), ['createdAt', 'updatedAt']);
    },
  },
];
