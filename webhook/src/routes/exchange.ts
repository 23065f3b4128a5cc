import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { type ParsedSignature, SignatureRefused, type SignedMessage, parseSignature } from '@svault/shared';
import { rotateRequestSchema } from '@svault/shared/schemas';
import { readBody, rejectByHead } from '@svault/server-kit/raw-body';
import { respondJson } from '@svault/server-kit/respond';
import type { Exchange, RotateKey } from '../binding/exchange.ts';
import { ApiError } from '../errors.ts';
import type { RequestReceiver } from '../http/authenticate-request.ts';
import { MAX_BODY_BYTES, parseJsonBody } from '../http/body.ts';
import { endpoint } from '../http/endpoint.ts';
import { createSignedMessageReader } from '../http/signed-message.ts';

/** PROTOCOL.md section 5.1: this key id alone selects the exchange of a code. */
const BIND_KEY_ID = 'bind';
const BOUNDS = { maxBytes: MAX_BODY_BYTES['/v1/exchange'] };
const NO_BODY = new Uint8Array();

/** `POST /v1/exchange`: a code for the binding's secret, or, signed with the current key, a new secret. */
export function createExchangeRoute(deps: {
  readonly exchange: Exchange;
  readonly rotate: RotateKey;
  readonly receiveRequest: RequestReceiver;
  readonly webhookUrl: string;
}): RequestHandler {
  const readMessage = createSignedMessageReader(deps.webhookUrl);
  return endpoint('/v1/exchange', ['POST'], async (req, res) => {
    rejectByHead(req, BOUNDS);
    const head = readMessage(req, NO_BODY);
    const parsed = parseBindSignature(head);
    respondJson(res, parsed === undefined ? await rotate(req) : await exchange(req, head, parsed));
  });

  async function exchange(
    req: IncomingMessage,
    head: SignedMessage,
    parsed: ParsedSignature,
  ): Promise<object> {
    deps.exchange.mustHaveCode();
    const body = await readBody(req, BOUNDS);
    return deps.exchange.redeem({ ...head, body }, parsed, parseJsonBody(req, body));
  }

  async function rotate(req: IncomingMessage): Promise<object> {
    const { keyId, body } = await deps.receiveRequest(req, { ...BOUNDS, refuseFormerKey: true });
    if (!rotateRequestSchema.safeParse(parseJsonBody(req, body)).success)
      throw new ApiError('INVALID_REQUEST', 'op must be rotate');
    return deps.rotate(keyId);
  }
}

/** undefined for every other request, unreadable ones too: the usual authentication rejects those. */
function parseBindSignature(message: SignedMessage): ParsedSignature | undefined {
  try {
    const parsed = parseSignature(message);
    return parsed.keyId === BIND_KEY_ID ? parsed : undefined;
  } catch (error) {
    if (error instanceof SignatureRefused) return undefined;
    throw error;
  }
}
