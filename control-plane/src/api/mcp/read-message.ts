import { isObject, AppError, type JsonRefusalReason, JsonRefused, parseJsonValue } from '@svault/shared';
import type { IncomingMessage } from 'node:http';
import type { Denial } from '../../access/decision.ts';
import { acceptsJson } from '../http/accept.ts';
import { readAdmittedBody } from '../http/read-admitted-body.ts';
import {
  INVALID_REQUEST,
  type JsonRpcId,
  type JsonRpcError,
  PARSE_ERROR,
  HTTP_ERROR,
  idIn,
} from '../http/json-rpc.ts';
import { isJson } from '../management/parse-input.ts';

/** Far above the longest arguments a tool takes. */
const MAX_BODY_BYTES = 1024 * 1024;

/** No message of ours has a tenth as many; each costs a place in an object, and may cost a line of an error. */
const BOUNDS = { numbers: 'any', maxCommas: 1_000 } as const;

/** The message in a request's body; an error is sent only to an authenticated caller. */
export type Read =
  | { readonly readable: true; readonly message: unknown }
  | { readonly readable: false; readonly error: JsonRpcError; readonly id: JsonRpcId };

/**
 * Reads one JSON-RPC message, or a batch of them: the cap, the media types, then strict JSON, whose numbers are written as
 * other people's programs write them.
 *
 * @param admit looks up the sender of a large message ({@link readAdmittedBody})
 * @throws ApiError INVALID_REQUEST where the body ends early: the client is gone
 */
export async function readMessage(
  req: IncomingMessage,
  admit: () => Promise<Denial | undefined>,
): Promise<Read | { readonly denial: Denial; readonly readable?: undefined }> {
  if (!isPlain(req)) return rejected(UNSUPPORTED);
  const received = await readAdmittedBody(req, { maxBytes: MAX_BODY_BYTES, admit }).catch(
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'TOO_LARGE') return undefined;
      throw error;
    },
  );
  if (received === undefined) return rejected(TOO_LARGE);
  if (received.denial !== undefined) return received;
  const { body: bytes } = received;
  if (!isJson(req)) return rejected(UNSUPPORTED);
  // An event stream is never needed here.
  if (!acceptsJson(req.headers.accept)) return rejected(NOT_ACCEPTABLE);
  try {
    return { readable: true, message: withoutNulls(parseJsonValue(bytes, BOUNDS)) };
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    if (UNREADABLE.has(error.reason)) return rejected(UNPARSABLE);
    if (isList(bytes)) return SOME_BATCH;
    return rejected(UNFIT, error.reason === 'depth' ? null : idIn(bytes));
  }
}

const http = (status: number, message: string): JsonRpcError => ({ status, code: HTTP_ERROR, message });

const TOO_LARGE = http(413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);
const UNSUPPORTED = http(415, 'Send the message as application/json, without a content-encoding.');
const NOT_ACCEPTABLE = http(406, 'Answers are application/json; the Accept header must allow that.');
const UNPARSABLE: JsonRpcError = {
  status: 400,
  code: PARSE_ERROR,
  message: 'Parse error: the body must be JSON in UTF-8.',
};
const UNFIT: JsonRpcError = {
  status: 400,
  code: INVALID_REQUEST,
  message:
    'Invalid request: more than 32 levels or 1000 values, a name twice in an object, or a name or text that no message has.',
};

/** In these cases not even the message's id can be read. */
const UNREADABLE: ReadonlySet<JsonRefusalReason> = new Set(['bom', 'utf8', 'syntax']);

/** A batch is rejected whatever it contains. */
const SOME_BATCH: Read = { readable: true, message: [] };

/** Whether JSON text is that of a list: its first byte that is no white space says so (RFC 8259 section 2). */
const isList = (bytes: Uint8Array): boolean => bytes.find((byte) => !WHITE_SPACE.has(byte)) === 0x5b;
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

const rejected = (error: JsonRpcError, id: JsonRpcId = null): Read => ({ readable: false, error, id });

/** Compressed, a small body could be any size once opened. */
function isPlain({ headers }: IncomingMessage): boolean {
  const coding = headers['content-encoding'];
  return coding === undefined || coding.toLowerCase() === 'identity';
}

/**
 * Drops null members in the parameters of a message, at any depth: programs write null for an absent member (Go for
 * a nil map, models for an optional argument), and no member of MCP's requests means anything by it.
 *
 * @param message as it was parsed; changed in place
 */
function withoutNulls(message: unknown): unknown {
  if (!isObject(message) || !('params' in message)) return message;
  if (message['params'] === null) delete message['params'];
  else dropNulls(message['params']);
  return message;
}

function dropNulls(value: unknown): void {
  if (Array.isArray(value)) value.forEach(dropNulls);
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) {
      if (member === null) delete value[name];
      else dropNulls(member);
    }
}
