import type { IncomingMessage } from 'node:http';
import { Router } from 'express';
import { SignatureRefused, type ParsedSignature, parseSignature, type SignedMessage } from '@svault/shared';
import { rotateRequestSchema } from '@svault/shared/schemas';
import { readBody } from '@svault/server-kit/raw-body';
import { only, route } from '@svault/server-kit/request-handler';
import type { Exchange } from '../binding/exchange.ts';
import type { RotateKey } from '../binding/rotation.ts';
import { sendJson } from '../http/answer.ts';
import type { RequestAuthenticator } from '../http/authenticate-request.ts';
import { refusal } from '../http/errors.ts';
import { MAX_BODY_BYTES, parseJsonBody } from '../http/json-body.ts';
import { createSignedMessageReader } from '../http/signed-message.ts';

/** Protocol section 5.1: this key id alone selects the order of work of a binding. */
const BIND_KEY_ID = 'bind';

/** `POST /v1/exchange`: a code for the binding's secret, or, signed with the current key, a new secret. */
export function createExchangeRoute(deps: {
  readonly exchange: Exchange;
  readonly rotate: RotateKey;
  readonly authenticate: RequestAuthenticator;
  readonly webhookUrl: string;
}): Router {
  const readMessage = createSignedMessageReader(deps.webhookUrl);
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/v1/exchange',
    only(['POST']),
    route(async (req, res) => {
      const raw = await readBody(req, { maxBytes: MAX_BODY_BYTES });
      const message = readMessage(req, raw);
      const parsed = parseBindSignature(message);
      sendJson(
        res,
        parsed === undefined
          ? await rotate(req, raw)
          : await deps.exchange(message, parsed, parseJsonBody(req, raw)),
      );
    }),
  );
  return router;

  async function rotate(req: IncomingMessage, raw: Buffer): Promise<object> {
    const { keyId } = await deps.authenticate(req, raw, { refuseFormerKey: true });
    if (!rotateRequestSchema.safeParse(parseJsonBody(req, raw)).success) {
      throw refusal('INVALID_REQUEST', 'op must be rotate');
    }
    return deps.rotate(keyId);
  }
}

/** undefined for every request that the usual order of work is for; that refuses what cannot be read, too. */
function parseBindSignature(message: SignedMessage): ParsedSignature | undefined {
  try {
    const parsed = parseSignature(message);
    return parsed.keyId === BIND_KEY_ID ? parsed : undefined;
  } catch (error) {
    if (error instanceof SignatureRefused) return undefined;
    throw error;
  }
}
