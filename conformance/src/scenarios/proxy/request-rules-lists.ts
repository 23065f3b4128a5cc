import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { gzipSync, gunzipSync } from 'node:zlib';
import type { Check } from '../../check/check.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import { NoAnswer, type Answer } from '../../http/client.ts';
import { header, jsonObject, text } from '../../http/read-answer.ts';
import type { UpstreamAnswer } from '../../upstream/upstream.ts';
import { piecesUntil } from '../../upstream/pieces.ts';
import { withResolvers } from '../../with-resolvers.ts';
import { expectAllowed, givenRules, json, message, toolCall } from './ruled-record.ts';

const CLAIMS = ['proxy', 'store', 'request-rules'] as const;

const LIST = json(message('tools/list'));
const HIDDEN = 'delete_repo';
const tool = (name: string): object => ({
  name,
  title: 'A tool',
  inputSchema: { type: 'object', required: [] },
});
const listOf = (...names: readonly string[]): object => ({
  jsonrpc: '2.0',
  id: 1,
  result: { nextCursor: 'next', tools: names.map(tool), _meta: { note: ['ü', 1.5, null] } },
});
const ALL = listOf('get_issue', HIDDEN, 'search_code', 'Get_issue');
const SHOWN = listOf('get_issue', 'search_code');
const RULE = { tools: ['get_issue', 'search_*'] };
const OTHER_MESSAGE = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'on its way' } };

const CR = 0x0d;
const EVENT_STREAM = { 'content-type': 'text/event-stream' };
/** The hidden tool's name without its letters. */
const escaped = JSON.stringify(ALL)
  .replace(HIDDEN, String.raw`\u0064elete\u005frepo`)
  .replace('"tools"', String.raw`"\u0074ools"`);

const answering =
  (body: string | Uint8Array, headers: Readonly<Record<string, string>>): UpstreamAnswer =>
  (response) => {
    response.writeHead(200, headers).end(body);
  };
const asJson = (body: string, type = 'application/json'): UpstreamAnswer =>
  answering(body, { 'content-type': type });

/** An event, its data in as many lines as the text has. */
const event = (data: string, before = '', end = '\n'): string =>
  [...(before === '' ? [] : [before]), ...data.split('\n').map((line) => `data: ${line}`), '', ''].join(end);

/** Messages in a stream of events, comments and what is no data left out. */
function messagesIn(answer: Answer): readonly unknown[] {
  const events = text(answer).replaceAll(/\r\n?/g, '\n').split('\n\n');
  const data = events.map((each) =>
    each
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.replace(/^data: ?/, ''))
      .join('\n'),
  );
  return data.filter((each) => each !== '').map((each) => JSON.parse(each) as unknown);
}

const STREAMS: Readonly<Record<string, string>> = {
  'one event': event(JSON.stringify(ALL), 'event: message'),
  'an event behind a comment and another one': `: hello\n\n${event(JSON.stringify(OTHER_MESSAGE), 'id: 1')}${event(
    JSON.stringify(ALL),
    'id: 2',
  )}`,
  'lines that end in CR LF': event(JSON.stringify(ALL), 'event: message', '\r\n'),
  'lines that end in CR': event(JSON.stringify(ALL), 'id: 3', '\r'),
  'data in several lines': event(JSON.stringify(ALL, null, 1)),
  'data in several lines that end in CR LF': event(JSON.stringify(ALL, null, 1), '', '\r\n'),
  'data without a space': event(JSON.stringify(ALL)).replace('data: ', 'data:'),
  'an escaped name': event(escaped),
};

/** Longer than a reader takes to see one piece before the next. */
const BETWEEN_PIECES_MS = 2;

/** Answers in pieces that end within characters and within line ends. */
const inPieces =
  (body: string): UpstreamAnswer =>
  async (response) => {
    response.writeHead(200, EVENT_STREAM);
    let piece: number[] = [];
    for (const byte of Buffer.from(body)) {
      piece.push(byte);
      if (byte < 0xc0 && byte !== CR) continue;
      response.write(Buffer.from(piece));
      piece = [];
      await delay(BETWEEN_PIECES_MS);
    }
    response.end(Buffer.from(piece));
  };

const whole = JSON.stringify(ALL);
const UNREADABLE: Readonly<Record<string, UpstreamAnswer>> = {
  'JSON that ends early': asJson(whole.slice(0, -1)),
  'a list of messages': asJson(`[${whole}]`),
  'a result twice': asJson(whole.replace(/\}$/, `,"result":{"tools":[]}}`)),
  'tools twice': asJson(whole.replace('"result":{', `"result":{"tools":${JSON.stringify([tool(HIDDEN)])},`)),
  'compressed JSON': answering(gzipSync(whole), {
    ...{ 'content-type': 'application/json', 'content-encoding': 'gzip' },
  }),
  'an event that is no JSON': answering(event(whole.slice(0, -1)), EVENT_STREAM),
  'compressed events': answering(gzipSync(event(whole)), { ...EVENT_STREAM, 'content-encoding': 'gzip' }),
};

/** What came of an answer, be it broken off. */
async function readAsFar(open: Parameters<typeof piecesUntil>[0]): Promise<Answer> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of open.pieces) pieces.push(piece);
  } catch (error) {
    if (!(error instanceof NoAnswer) || error.timedOut) throw error;
  }
  return { ...open, body: Buffer.concat(pieces) };
}

function plainText({ body }: Answer): string {
  try {
    return gunzipSync(body).toString();
  } catch {
    return Buffer.from(body).toString();
  }
}

/** Protocol section 5.7: what an upstream lists with `tools/list`. */
export const REQUEST_RULE_LIST_CHECKS: readonly Check[] = [
  {
    id: 'request-rules.list',
    title: 'a list of tools in JSON comes back without those that no rule allows, and otherwise as it is',
    requirements: ['RUL-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await (await givenRules(tools, (base) => [{ ...RULE, paths: [base] }])).proxy();
      for (const answer of [
        asJson(whole),
        asJson(JSON.stringify(ALL, null, 2), 'application/json; charset=utf-8'),
        asJson(escaped, 'Application/JSON'),
        answering(whole, {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(whole)),
        }),
      ]) {
        proxy.place.answerWith(answer);
        const back = await expectAllowed(proxy, () => proxy.call(LIST), 'tools/list');
        expectThat(
          isDeepStrictEqual(jsonObject(back), SHOWN),
          back,
          `the list without ${HIDDEN} and Get_issue`,
        );
      }
      proxy.place.answerWith(
        answering(whole, { 'content-type': 'application/json', 'mcp-session-id': 'session-5f1c' }),
      );
      const withSession = await proxy.call(LIST);
      const session = header(withSession, 'mcp-session-id');
      expectThat(session === 'session-5f1c', withSession, 'the upstream’s headers beside the list');
      const error = { jsonrpc: '2.0', id: 1, error: { code: -32_602, message: 'no such cursor' } };
      proxy.place.answerWith(asJson(JSON.stringify(error)));
      const back = await expectAllowed(proxy, () => proxy.call(LIST), 'tools/list');
      expectThat(isDeepStrictEqual(jsonObject(back), error), back, 'the upstream’s error');
    },
  },
  {
    id: 'request-rules.list-in-events',
    title: 'a list of tools in a stream of events comes back so too, and the other events with it',
    requirements: ['RUL-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await (await givenRules(tools, (base) => [{ ...RULE, paths: [base] }])).proxy();
      for (const [what, stream] of Object.entries(STREAMS))
        for (const answer of [answering(stream, { 'content-type': 'Text/Event-Stream' }), inPieces(stream)]) {
          proxy.place.answerWith(answer);
          const back = await expectAllowed(proxy, () => proxy.call(LIST), what);
          const others = what.includes('another one') ? [OTHER_MESSAGE] : [];
          const holds = isDeepStrictEqual(messagesIn(back), [...others, SHOWN]);
          expectThat(holds, back, `the events of the upstream, the list without ${HIDDEN}: ${what}`);
        }
    },
  },
  {
    id: 'request-rules.list-resumed',
    title: 'a list of tools that comes in the stream of a GET is without those tools too',
    requirements: ['RUL-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const stream = event(JSON.stringify(OTHER_MESSAGE), 'id: 8') + event(whole, 'id: 9');
      const answer = answering(stream, EVENT_STREAM);
      const record = await givenRules(tools, (base) => [{ ...RULE, paths: [base] }], { answer });
      const proxy = await record.proxy();
      const resume = { method: 'GET', headers: [['last-event-id', '7']] } as const;
      const back = await expectAllowed(proxy, () => proxy.call(resume), 'a stream that is resumed');
      const holds = isDeepStrictEqual(messagesIn(back), [OTHER_MESSAGE, SHOWN]);
      expectThat(holds, back, `the events of the upstream, the list without ${HIDDEN}`);
      const ids = [...text(back).matchAll(/^id: ?(.*?)\r?$/gm)].map(([, id]) => id);
      expectThat(
        isDeepStrictEqual(ids, ['8', '9']),
        back,
        'the ids of the events, by which a stream is resumed',
      );
    },
  },
  {
    id: 'request-rules.other-answers',
    title: 'an answer that lists no tools comes back as it is, whatever its status and its type',
    requirements: ['RUL-14', 'PRX-27'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await (await givenRules(tools, (base) => [{ ...RULE, paths: [base] }])).proxy();
      for (const [what, call, status, type, body] of [
        ['a GET', { method: 'GET' }, 405, 'text/plain', 'there is no stream'],
        ['tools/list', LIST, 503, 'text/html', '<h1>no tools</h1>'],
        ['tools/list', LIST, 404, 'application/json', '{"error":"no session"}'],
        ['tools/list', LIST, 400, 'application/json', ''],
        ['a call of a tool', json(toolCall('get_issue')), 200, 'application/json', ` ${whole}\n`],
        ['a notification', json(JSON.stringify(OTHER_MESSAGE)), 202, 'text/plain', ''],
      ] as const) {
        proxy.place.answerWith((response) => response.writeHead(status, { 'content-type': type }).end(body));
        const back = await expectAllowed(proxy, () => proxy.call(call), what);
        const isSame = back.status === status && text(back) === body;
        expectThat(isSame, back, `${status} with ${JSON.stringify(body)}, as the upstream answered ${what}`);
      }
    },
  },
  {
    id: 'request-rules.list-by-place',
    title: 'a list shows the tools that some rule allows at its host and path, whatever the arguments',
    requirements: ['RUL-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(
        tools,
        (base) => [
          { tools: ['get_issue'], paths: [`${base}/one`], arguments: { '/repo': ['acme/site'] } },
          { tools: ['search_*'], paths: [`${base}/one`] },
          { tools: [HIDDEN], paths: [`${base}/two`] },
          { tools: [HIDDEN], paths: [`${base}/one`], hosts: ['api.another.example'] },
          { mcp: ['resources/*'], paths: [`${base}/three`] },
          { mcp: ['tools/*'], paths: [`${base}/four`] },
        ],
        { answer: asJson(whole) },
      );
      for (const [rest, names] of [
        ['/one', ['get_issue', 'search_code']],
        ['/two', [HIDDEN]],
        ['/three', []],
        ['/four', ['get_issue', HIDDEN, 'search_code', 'Get_issue']],
      ] as const) {
        const proxy = await record.proxy(rest);
        const back = await expectAllowed(proxy, () => proxy.call(LIST), `tools/list at ${rest}`);
        const holds = isDeepStrictEqual(jsonObject(back), listOf(...names));
        expectThat(holds, back, `a list of ${names.length} tools at ${rest}: ${names.join(', ')}`);
      }
    },
  },
  {
    id: 'request-rules.unreadable-list',
    title: 'a list of tools that cannot be read, or read in two ways, shows no tool that no rule allows',
    requirements: ['RUL-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(tools, (base) => [{ ...RULE, paths: [base] }]);
      const { place, name: serviceName } = record;
      const upstreamUrl = place.url;
      const headerTemplates = { authorization: '${TOKEN}' };
      const proxyId = await tools.given.proxy({ serviceName, upstreamUrl, headerTemplates });
      for (const [what, answer] of Object.entries(UNREADABLE)) {
        place.answerWith(answer);
        const before = place.calls.length;
        const open = await tools.proxiedOpen({ proxyId, serviceName, ...LIST }).catch(brokenOff);
        if (open === undefined) continue;
        const back = await readAsFar(open);
        expectThat(place.calls.length === before + 1, back, `a call of the upstream for tools/list`);
        expectThat(
          !plainText(back).includes(HIDDEN),
          back,
          `nothing of ${HIDDEN}, where the upstream sent ${what}`,
        );
        if (header(back, 'sv-proxy-origin') === 'webhook') expectRefusal(back, 'UPSTREAM_ERROR', what);
      }
    },
  },
  {
    id: 'request-rules.events-one-by-one',
    title: 'each event arrives before the upstream sends the next, also where lists of tools are looked for',
    requirements: ['RUL-14', 'PRX-24'],
    claims: CLAIMS,
    run: async (tools) => {
      const events = [1, 2, 3].map((at) =>
        JSON.stringify({ ...OTHER_MESSAGE, params: { data: `event ${at}` } }),
      );
      const seen = events.map(() => withResolvers<void>());
      let heldBack = 0;
      const record = await givenRules(tools, (base) => [{ ...RULE, paths: [base] }], {
        answer: async (response) => {
          response.writeHead(200, EVENT_STREAM);
          // Only for a webhook that waits for the end, which would otherwise never come.
          const patience = AbortSignal.timeout(tools.target.timeoutMs / 4);
          for (const [at, data] of events.entries()) {
            response.write(event(data));
            if (!patience.aborted) await Promise.race([seen[at]?.promise, once(patience, 'abort')]);
            if (patience.aborted) heldBack ||= at + 1;
          }
          response.end();
        },
      });
      const { name: serviceName, place } = record;
      const headerTemplates = { authorization: '${TOKEN}' };
      const proxyId = await tools.given.proxy({ serviceName, upstreamUrl: place.url, headerTemplates });
      const reader = piecesUntil(await tools.proxiedOpen({ proxyId, serviceName, method: 'GET' }));
      for (const [at, { resolve }] of seen.entries()) {
        await reader.until(`event ${at + 1}`);
        resolve();
      }
      const back = await reader.rest();
      expectThat(heldBack === 0, back, `event ${heldBack} before the upstream sent the next one`);
      expectThat(
        messagesIn(back).length === events.length,
        back,
        `all ${events.length} events of the upstream`,
      );
    },
  },
];

/** That no answer came is what was asked for, unless nothing came to an end at all. */
function brokenOff(error: unknown): undefined {
  if (error instanceof NoAnswer && !error.timedOut) return undefined;
  throw error;
}
