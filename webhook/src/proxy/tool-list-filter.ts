import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { AnswerHead, TakeAnswer } from '@svault/shared/egress';
import { isObject } from '@svault/shared';
import { foldCase } from '@svault/shared/request-rules';
import { createParser } from 'eventsource-parser';

type ShowsTool = (name: string) => boolean;

/** A list of tools beyond this many bytes, or an event beyond as many characters, is not handed on. */
const MAX_LENGTH = 8 * 1024 * 1024;

/**
 * Leaves the tools that a client may not call out of what an upstream lists (PROTOCOL.md RUL-14), in JSON and in event
 * streams; another answer passes as it is. The answer breaks off where it cannot be read.
 */
export function withoutHiddenTools(shows: ShowsTool, take: TakeAnswer): TakeAnswer {
  return (head) => {
    const type = fieldOf(head, 'content-type').toLowerCase();
    const isEvents = type.includes('event-stream');
    if (!isEvents && !type.includes('json')) return take(head);
    const fields = head.fields.filter(([name]) => name !== 'content-length');
    const coding = fieldOf(head, 'content-encoding').toLowerCase();
    const rewrite = isEvents ? eventRewriter(shows) : jsonRewriter(shows);
    const taker = take({ ...head, fields });
    return rewriting(taker, ['', 'identity'].includes(coding) ? rewrite : unreadable);
  };
}

function fieldOf({ fields }: AnswerHead, name: string): string {
  return fields.find(([each]) => each === name)?.[1] ?? '';
}

/** Takes a piece of the answer, or undefined for the end, and gives what can be passed on. @throws Error */
type Rewrite = (chunk: Buffer | undefined) => string;

const unreadable: Rewrite = () => {
  throw new Error('the upstream compressed its answer');
};

/** Passes on what `rewrite` gives, at the pace of the taker, which ends and is destroyed with it. */
function rewriting(taker: Writable, rewrite: Rewrite): Writable {
  const filter = new Writable({
    write: (chunk: Buffer, _encoding, done) =>
      passOn(done, () => {
        const text = rewrite(chunk);
        if (text === '' || taker.write(text)) done();
        else taker.once('drain', () => done());
      }),
    final: (done) => passOn(done, () => taker.end(rewrite(undefined), () => done())),
    destroy: (error, done) => {
      if (!taker.writableFinished) taker.destroy();
      done(error);
    },
  });
  taker.once('close', () => filter.destroy());
  taker.once('error', (error) => filter.destroy(error));
  return filter;
}

/** A stream takes no thrown error. */
function passOn(done: (error: Error) => void, pass: () => void): void {
  try {
    pass();
  } catch (error) {
    done(error as Error);
  }
}

function jsonRewriter(shows: ShowsTool): Rewrite {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return (chunk) => {
    if (chunk === undefined) return bytes === 0 ? '' : withoutHidden(Buffer.concat(chunks).toString(), shows);
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_LENGTH) throw new Error('the list of tools is too long');
    return '';
  };
}

/** Events are written anew; what a reader of them ignores is left out. */
function eventRewriter(shows: ShowsTool): Rewrite {
  const decoder = new StringDecoder('utf8');
  let passed = '';
  let tooLong = false;
  const parser = createParser({
    maxBufferSize: MAX_LENGTH,
    onId: (id) => (passed += `id: ${id}\n`),
    onEvent: ({ event, data }) => {
      const lines = (MAY_LIST_TOOLS.test(data) ? withoutHidden(data, shows) : data).split('\n');
      if (event !== undefined) passed += `event: ${event}\n`;
      passed += `${lines.map((line) => `data: ${line}`).join('\n')}\n\n`;
    },
    onComment: (comment) => (passed += `: ${comment}\n`),
    onRetry: (ms) => (passed += `retry: ${ms}\n`),
    onError: ({ type }) => (tooLong ||= type === 'max-buffer-size-exceeded'),
  });
  return (chunk) => {
    passed = '';
    parser.feed(chunk === undefined ? decoder.end() : decoder.write(chunk));
    if (tooLong) throw new Error('an event is too long');
    return passed;
  };
}

/** Other texts cannot have the member, however its name is escaped. */
const MAY_LIST_TOOLS = /tools|\\u/iu;

/** @throws SyntaxError for what is no JSON */
function withoutHidden(json: string, shows: ShowsTool): string {
  // Written anew also where nothing is hidden: a name that stands twice means one thing then.
  const value: unknown = JSON.parse(json);
  for (const message of Array.isArray(value) ? (value as unknown[]) : [value]) {
    for (const result of membersNamed(message, 'result')) hideTools(result, shows);
  }
  return JSON.stringify(value);
}

function hideTools(result: unknown, shows: ShowsTool): void {
  if (!isObject(result)) return;
  for (const [name, tools] of Object.entries(result)) {
    if (foldCase(name) === 'tools' && Array.isArray(tools))
      result[name] = tools.filter((tool) => {
        const names = membersNamed(tool, 'name');
        return names.length > 0 && names.every((each) => typeof each === 'string' && shows(each));
      });
  }
}

/** Some clients read names without case. */
const membersNamed = (value: unknown, name: string): unknown[] =>
  isObject(value)
    ? Object.keys(value)
        .filter((each) => each === name || foldCase(each) === name)
        .map((each) => value[each])
    : [];
