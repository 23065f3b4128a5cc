import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setInterval as ticks } from 'node:timers/promises';
import type { Check } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';

import { text } from '../../http/read-answer.ts';
import { setUpProxy, calledOnce, storeText, received } from '../../upstream/proxy-setup.ts';
import { piecesUntil } from '../../upstream/pieces.ts';
import { withResolvers } from '../../with-resolvers.ts';
import type { UpstreamAnswer } from '../../upstream/upstream.ts';

const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const MEBIBYTE = 1024 * 1024;
const LARGE_MEBIBYTES = 16;
const EVENTS = 3;

/** What a parser of events, or of text, would not hand on as it is. */
const ODD_EVENTS = [
  ': a comment\n\n',
  'id: 1\r\nevent: odd\r\ndata: {"a" : "grüße \u{1F511}"}\r\n\r\n',
  'data: first\ndata:second\n\n',
  'retry: 3000\n\ndata\n\n',
  'data: without an end',
].join('');

/** Protocol sections 2 and 5.6: answers that come piece by piece. */
export const STREAMING_CHECKS: readonly Check[] = [
  {
    id: 'streaming.event-by-event',
    title: 'each event of an upstream arrives before the upstream sends the next',
    requirements: ['PRX-24'],
    claims: ['proxy'],
    run: async (tools) => {
      const seen = Array.from({ length: EVENTS }, () => withResolvers<void>());
      let heldBack = 0;
      const proxy = await setUpProxy(tools, {
        answer: async (response) => {
          response.writeHead(200, EVENT_STREAM);
          // Only for a webhook that waits for the end, which would otherwise never come.
          const patience = AbortSignal.timeout(tools.target.timeoutMs / 4);
          for (const [at, arrived] of seen.entries()) {
            response.write(`data: event ${at}\n\n`);
            if (!patience.aborted) await Promise.race([arrived.promise, once(patience, 'abort')]);
            if (patience.aborted) heldBack ||= at + 1;
          }
          response.end();
        },
      });
      const answer = await tools.proxiedOpen({ proxyId: proxy.proxyId, serviceName: proxy.name });
      const reader = piecesUntil(answer);
      for (const [at, { resolve }] of seen.entries()) {
        await reader.until(`data: event ${at}\n\n`);
        resolve();
      }
      const whole = await reader.rest();
      expectThat(heldBack === 0, whole, `event ${heldBack} before the upstream sent the next one`);
      const all = seen.map((_, at) => `data: event ${at}\n\n`).join('');
      expectThat(text(whole) === all, whole, `all ${EVENTS} events of the upstream`);
    },
  },
  {
    id: 'streaming.events-as-they-are',
    title: 'a stream of events comes back byte for byte, comments and line ends included',
    requirements: ['PRX-24'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, {
        answer: async (response) => {
          response.writeHead(200, EVENT_STREAM);
          // In pieces that end within a character and within a line end.
          const bytes = Buffer.from(ODD_EVENTS);
          for (let at = 0; at < bytes.byteLength; at += 7)
            await new Promise<unknown>((sent) => response.write(bytes.subarray(at, at + 7), sent));
          response.end();
        },
      });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      expectThat(text(answer) === ODD_EVENTS, answer, 'the events as the upstream wrote them');
      const type = answer.headers.find(([name]) => name === 'content-type')?.[1];
      expectThat(type === 'text/event-stream', answer, '"content-type: text/event-stream"');
    },
  },
  {
    id: 'streaming.large-answer',
    title: `an answer of ${LARGE_MEBIBYTES} MiB comes back whole`,
    requirements: ['TRN-21'],
    claims: ['proxy'],
    run: async (tools) => {
      const sent = createHash('sha256');
      const proxy = await setUpProxy(tools, { answer: large(sent) });
      const answer = await tools.proxiedOpen({ proxyId: proxy.proxyId, serviceName: proxy.name });
      const came = createHash('sha256');
      let size = 0;
      for await (const piece of answer.pieces) {
        came.update(piece);
        size += piece.byteLength;
        if (size > LARGE_MEBIBYTES * MEBIBYTE) break;
      }
      answer.end();
      const shown = { ...answer, body: new Uint8Array() };
      const expected = LARGE_MEBIBYTES * MEBIBYTE;
      expectThat(size === expected, shown, `${expected} bytes, not ${size}`);
      expectThat(came.digest('hex') === sent.digest('hex'), shown, 'the bytes that the upstream sent');
    },
  },
  {
    id: 'streaming.own-answers',
    title: 'calls that are under way at once get each their own answer and send each their own credential',
    requirements: ['PRX-06', 'PRX-13', 'PRX-24'],
    claims: ['proxy'],
    run: async (tools) => {
      const echo: UpstreamAnswer = async (response, call) => {
        response.writeHead(200, { 'content-type': 'text/plain' }).write('said: ');
        await new Promise(setImmediate);
        response.end(Buffer.from(call.body).toString());
      };
      const proxies = [await setUpProxy(tools, { record: await storeText(tools), answer: echo })];
      proxies.push(await setUpProxy(tools, { record: await storeText(tools), answer: echo }));
      const calls = Array.from({ length: 8 }, async (_, at) => {
        const proxy = proxies[at % 2];
        const body = `call ${at} of ${proxy?.name}`;
        return { body, answer: await proxy?.call({ body }) };
      });
      for (const { body, answer } of await Promise.all(calls)) {
        // Where many calls are under way, a webhook may say so (PRX-38).
        if (answer === undefined || answer.status === 429) continue;
        expectThat(text(answer) === `said: ${body}`, answer, `the answer to "${body}"`);
        for (const { place, name, value } of proxies) {
          const strays = place.calls.filter(
            (call) =>
              !Buffer.from(call.body).toString().endsWith(name) ||
              received(call, 'authorization')[0] !== `Bearer ${value}`,
          );
          expectThat(strays.length === 0, answer, 'each upstream called with its own credential and body');
        }
      }
    },
  },
  {
    id: 'streaming.caller-gone',
    title: 'the call of the upstream ends once the service is gone',
    requirements: ['PRX-35'],
    claims: ['proxy'],
    run: async (tools) => {
      const became = withResolvers<'closed' | 'open'>();
      const proxy = await setUpProxy(tools, {
        answer: async (response) => {
          response.once('close', () => became.resolve('closed'));
          response.writeHead(200, EVENT_STREAM);
          await writeOn(response, AbortSignal.timeout(tools.target.timeoutMs / 4));
          became.resolve('open');
          response.end();
        },
      });
      const answer = await tools.proxiedOpen({ proxyId: proxy.proxyId, serviceName: proxy.name });
      await piecesUntil(answer).until('data: on\n\n');
      answer.end();
      const shown = { ...answer, body: new Uint8Array() };
      calledOnce(proxy, shown);
      const holds = (await became.promise) === 'closed';
      expectThat(holds, shown, 'the upstream’s connection closed after the service hung up');
    },
  },
  {
    id: 'streaming.leftovers',
    title: 'what an upstream writes after its answer reaches no other call',
    requirements: ['PRX-37'],
    claims: ['proxy'],
    run: async (tools) => {
      const forged = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nforged';
      const proxy = await setUpProxy(tools, {
        answer: (response) => {
          // More than its length says: the rest lies on the connection.
          response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 5 });
          response.end('first' + forged.repeat(2));
        },
      });
      const first = await proxy.call();
      expectThat(!text(first).includes('forged'), first, 'the answer without what came after it');
      proxy.place.answerWith((response) => response.writeHead(200).end('second'));
      for (let again = 0; again < 2; again++) {
        const answer = await proxy.call();
        expectThat(
          !text(answer).includes('forged'),
          answer,
          'the upstream’s answer to this call, not to another',
        );
      }
    },
  },
];

/** Writes on and on, since some notice only when they write, until nobody reads any more or it took too long. */
async function writeOn(response: ServerResponse, tooLong: AbortSignal): Promise<void> {
  for await (const _ of ticks(20)) {
    if (response.destroyed || response.closed || tooLong.aborted) return;
    response.write('data: on\n\n');
  }
}

/** Not faster than it is read, and not at all once nobody reads. */
function large(digest: ReturnType<typeof createHash>): UpstreamAnswer {
  function* pieces(): Generator<Buffer> {
    for (let at = 0; at < LARGE_MEBIBYTES; at++) {
      const piece = Buffer.alloc(MEBIBYTE, `mebibyte ${at} `);
      digest.update(piece);
      yield piece;
    }
  }
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    return pipeline(Readable.from(pieces()), response);
  };
}
