import { CheckSkipped } from '../check-outcome.ts';
import type { Check } from '../check.ts';
import { eachVariant, variantsAtOnce } from '../each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../expect.ts';
import type { Answer } from '../http/client.ts';
import { text } from '../http/read-answer.ts';
import type { Tools } from '../tools.ts';
import { HEALTH } from './signed-requests.ts';

/** Protocol section 2: the most that a body may hold, except at `/v1/proxy`. */
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_EXCHANGE_BYTES = 1024;

const LIST = '"op":"tokens.list","limit":1';
const storage = (tools: Tools, body: string | Uint8Array, contentType?: string): Promise<Answer> =>
  tools.signed(
    { method: 'POST', path: '/v1/storage', body },
    contentType === undefined ? {} : { contentType },
  );

/** A signed operation in a body of `Transfer-Encoding: chunked`. */
const inChunks = (tools: Tools, body: string | Uint8Array): Promise<Answer> => {
  const request = tools.sign({ method: 'POST', path: '/v1/storage', body });
  return tools.send({ ...request, headers: [...(request.headers ?? []), ['transfer-encoding', 'chunked']] });
};

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

/** A body of exactly so many bytes. */
function ofSize(start: string, end: string, bytes: number): string {
  return start + 'x'.repeat(bytes - start.length - end.length) + end;
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

/** Protocol section 2: what a body is, and how it is read. */
export const BODY_CHECKS: readonly Check[] = [
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
    title: 'an object in which a member name stands twice is refused',
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
    title: 'an optional member that is null is taken for one that is absent',
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
      expectThat(/"version"\s*:\s*\d+\s*[,}]/.test(text(answer)), answer, 'version as an integer, such as 1');
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
  {
    id: 'body.content-type',
    title: 'a signed body of another type than application/json is answered with 400',
    requirements: ['TRN-17'],
    claims: ['storage'],
    run: (tools) =>
      variantsAtOnce(
        {
          'text/plain': 'text/plain',
          'text/json': 'text/json',
          'application/x-www-form-urlencoded': 'application/x-www-form-urlencoded',
          'application/json5': 'application/json5',
          'application/problem+json': 'application/problem+json',
          'another one that names it': 'text/plain;x="application/json"',
        },
        async (type) => expectRefusal(await storage(tools, `{${LIST}}`, type), 'INVALID_REQUEST'),
      ),
  },
  {
    id: 'body.content-type-at-store',
    title: 'a body of another type than application/json is answered with 400 at /v1/store, and not stored',
    requirements: ['TRN-17'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      const body = '{"tokenType":"PlainText","value":"canary"}';
      // What a page of another origin may send without asking.
      for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
        expectRefusal(await storeBytes(tools, name, body, type), 'INVALID_REQUEST', type);
      // A ticket for a record that is not there yet: nothing was stored so far.
      expectOk(await tools.store(name, body, { claims: { ifv: 0 } }));
    },
  },
  {
    id: 'body.content-type-parameters',
    title: 'application/json is taken with and without parameters',
    requirements: ['TRN-17'],
    claims: ['storage'],
    run: (tools) =>
      variantsAtOnce(
        {
          'with a charset': 'application/json;charset=utf-8',
          'with a charset behind a space': 'application/json; charset=UTF-8',
          'with another parameter': 'application/json; profile="x"',
        },
        async (type) => expectOk(await storage(tools, `{${LIST}}`, type)),
      ),
  },
  {
    id: 'body.largest',
    title: 'a body of 1 MiB is taken',
    requirements: ['TRN-20'],
    claims: ['storage'],
    run: async (tools) => {
      expectOk(await storage(tools, ofSize(`{${LIST},"x":"`, '"}', MAX_BODY_BYTES)));
    },
  },
  {
    id: 'body.too-large',
    title: 'a body of more than 1 MiB is answered with 413',
    requirements: ['TRN-19', 'SIG-57'],
    claims: ['storage'],
    run: async (tools) => {
      expectRefusal(await storage(tools, ofSize(`{${LIST},"x":"`, '"}', MAX_BODY_BYTES + 1)), 'TOO_LARGE');
    },
  },
  {
    id: 'body.largest-at-exchange',
    title: 'a body of 1 KiB is taken at /v1/exchange',
    requirements: ['TRN-20'],
    run: async (tools) => {
      // An operation that there is not, so that no key changes.
      expectRefusal(await toExchange(tools, MAX_EXCHANGE_BYTES), 'INVALID_REQUEST');
    },
  },
  {
    id: 'body.too-large-at-exchange',
    title: 'a body of more than 1 KiB is answered with 413 at /v1/exchange',
    requirements: ['TRN-19'],
    run: async (tools) => {
      expectRefusal(await toExchange(tools, MAX_EXCHANGE_BYTES + 1), 'TOO_LARGE');
    },
  },
  {
    id: 'body.too-large-in-chunks',
    title: 'a body of more than 1 MiB that does not say its length is answered with 413',
    requirements: ['TRN-19'],
    claims: ['storage'],
    run: async (tools) => {
      if ((await inChunks(tools, `{${LIST}}`)).status !== 200)
        throw new CheckSkipped('the webhook takes no body that does not say its length');
      const large = ofSize(`{${LIST},"x":"`, '"}', MAX_BODY_BYTES + 1);
      expectRefusal(await inChunks(tools, large), 'TOO_LARGE');
    },
  },
  {
    id: 'body.too-large-at-store',
    title: 'a body of more than 1 MiB is answered with 413 at /v1/store, and nothing is stored',
    requirements: ['TRN-19'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      const [start, end] = ['{"tokenType":"PlainText","value":"canary"', '}'];
      const large = start + ' '.repeat(MAX_BODY_BYTES + 1 - start.length - end.length) + end;
      expectRefusal(await tools.store(name, large), 'TOO_LARGE');
      expectOk(await tools.store(name, start + end, { claims: { ifv: 0 } }));
    },
  },
];

const toExchange = (tools: Tools, size: number): Promise<Answer> =>
  tools.signed({ method: 'POST', path: '/v1/exchange', body: ofSize('{"op":"none","x":"', '"}', size) });

function storeBytes(
  tools: Tools,
  name: string,
  body: string | Uint8Array,
  contentType: string,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  return tools.send({
    method: 'POST',
    path: '/v1/store',
    headers: [
      ['authorization', `Bearer ${tools.ticket('store', name, { claims })}`],
      ['content-type', contentType],
    ],
    body,
  });
}
