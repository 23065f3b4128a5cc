import type { IncomingMessage } from 'node:http';
import { AppError, JsonRefused, type JsonRefusalReason, parseJsonValue } from '@svault/shared';
import { readBody } from '@svault/server-kit/raw-body';
import { acceptsJson } from '../http/accept.ts';
import {
  INVALID_REQUEST,
  type JsonRpcId,
  type JsonRpcRefusal,
  PARSE_ERROR,
  REFUSED_BY_HTTP,
  idOf,
} from '../http/json-rpc.ts';
import { withoutNulls } from './absent-members.ts';

/** Far above the longest arguments a tool takes. */
const MAX_BODY_BYTES = 1024 * 1024;

/** No message of ours has a tenth as many; each costs a place in an object, and may cost a line of an error. */
const BOUNDS = { numbers: 'any', maxCommas: 1_000 } as const;

/** As much as is kept for somebody of whom nothing is known yet but that a token has the right form. */
const STRANGERS_BYTES = 64 * 1024;

/** What a request's body says; why it says nothing is told only to who may know it. */
export type Read =
  | { readonly readable: true; readonly message: unknown }
  | { readonly readable: false; readonly refusal: JsonRpcRefusal; readonly id: JsonRpcId };

/**
 * Reads one JSON-RPC message, or a batch of them: the cap, the media types, then strict JSON, whose numbers are written as
 * other people's programs write them.
 *
 * @param admit whether more may be read than of anybody's; what it rejects with is thrown
 * @throws AppError INVALID_REQUEST where the body ended early, so that nobody is there to be answered
 */
export async function readMessage(req: IncomingMessage, admit: () => Promise<void>): Promise<Read> {
  if (!isPlain(req)) return refused(UNSUPPORTED);
  const large = { bytes: STRANGERS_BYTES, admit };
  const bytes = await readBody(req, { maxBytes: MAX_BODY_BYTES, large }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'TOO_LARGE') return undefined;
    throw error;
  });
  if (bytes === undefined) return refused(TOO_LARGE);
  if (!isJson(req.headers['content-type'])) return refused(UNSUPPORTED);
  // An event stream is never needed here.
  if (!acceptsJson(req.headers.accept)) return refused(NOT_ACCEPTABLE);
  try {
    return { readable: true, message: withoutNulls(parseJsonValue(bytes, BOUNDS)) };
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    if (UNREADABLE.has(error.reason)) return refused(UNPARSABLE);
    if (isList(bytes)) return SOME_BATCH;
    return refused(UNFIT, error.reason === 'depth' ? null : idIn(bytes));
  }
}

const http = (status: number, message: string): JsonRpcRefusal => ({
  status,
  code: REFUSED_BY_HTTP,
  message,
});

const TOO_LARGE = http(413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);
const UNSUPPORTED = http(415, 'Send the message as application/json, without a content-encoding.');
const NOT_ACCEPTABLE = http(406, 'Answers are application/json; the Accept header must allow that.');
const UNPARSABLE: JsonRpcRefusal = {
  status: 400,
  code: PARSE_ERROR,
  message: 'Parse error: the body must be JSON in UTF-8.',
};
const UNFIT: JsonRpcRefusal = {
  status: 400,
  code: INVALID_REQUEST,
  message:
    'Invalid request: more than 32 levels or 1000 values, a name twice in an object, or a name or text that no message has.',
};

/** Here nothing can be told of the message, not even its id. */
const UNREADABLE: ReadonlySet<JsonRefusalReason> = new Set(['bom', 'utf8', 'syntax']);

/** A batch is refused whatever is in it. */
const SOME_BATCH: Read = { readable: true, message: [] };

/** Whether JSON text is that of a list: its first byte that is no white space says so (RFC 8259 section 2). */
const isList = (bytes: Uint8Array): boolean => bytes.find((byte) => !WHITE_SPACE.has(byte)) === 0x5b;
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

const refused = (refusal: JsonRpcRefusal, id: JsonRpcId = null): Read => ({ readable: false, refusal, id });

/** Compressed, a small body could be any size once opened. */
function isPlain({ headers }: IncomingMessage): boolean {
  const coding = headers['content-encoding'];
  return coding === undefined || coding.toLowerCase() === 'identity';
}

const isJson = (contentType: string | undefined): boolean =>
  contentType === 'application/json' ||
  contentType?.split(';')[0]?.trim().toLowerCase() === 'application/json';

/** Of a message that is JSON, and not what it should be. */
function idIn(bytes: Uint8Array): JsonRpcId {
  try {
    return idOf(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    return null;
  }
}
