import type { HmacKey } from '@svault/shared';
import { CheckSkipped, NotTestable } from '../../check/outcome.ts';
import type { WebhookCheck } from '../../check/check.ts';
import type { SignatureDeviation } from '../../forge/signature.ts';
import type { Answer } from '../../http/client.ts';
import { jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';

/** A rotation, to be signed with the current key (ROT-01). */
export const ROTATE = { method: 'POST', path: '/v1/exchange', body: { op: 'rotate' } } as const;
const HEALTH = { method: 'POST', path: '/v1/health' } as const;

/** What a check rotates with. */
interface Turn {
  /** Keeps the key that a rotation was answered with, if it was. */
  learn(answer: Answer): HmacKey | undefined;
  /** Asks for a new key under the current one. @throws NotTestable where there is none */
  rotate(): Promise<HmacKey>;
  /** A signed request, `POST /v1/health` where nothing is said, under this key. */
  request(key: HmacKey, deviation?: SignatureDeviation): Promise<Answer>;
  /** A new key that a first request made the current one, and the one before it. @throws NotTestable */
  promoted(): Promise<{ readonly now: HmacKey; readonly former: HmacKey }>;
}

type Rotating = (tools: Tools, turn: Turn) => Promise<void>;

/** Every key of a run, the oldest first. */
const keysOf = new WeakMap<Tools, HmacKey[]>();

/**
 * Runs a check, and after a failure finds out which key the webhook takes now, so that the checks after it sign with
 * one that holds.
 */
async function turning(tools: Tools, check: (turn: Turn) => Promise<void>): Promise<void> {
  const keys = keysOf.get(tools) ?? [tools.target.key];
  keysOf.set(tools, keys);
  const request: Turn['request'] = (key, deviation) => tools.signed(HEALTH, { ...deviation, key });
  const learn: Turn['learn'] = (answer) => {
    const key = keyOf(answer);
    if (key !== undefined) keys.push(key);
    return key;
  };
  const rotate = async (): Promise<HmacKey> => {
    const answer = await tools.signed(ROTATE);
    const key = learn(answer);
    if (key === undefined) throw new NotTestable('there is no new key', answer);
    return key;
  };
  const promoted: Turn['promoted'] = async () => {
    const former = tools.target.key;
    const now = await rotate();
    const answer = await request(now);
    if (answer.status !== 200) throw new NotTestable('the new key was not accepted', answer);
    tools.keyIsNow(now);
    return { now, former };
  };
  try {
    await check({ learn, rotate, request, promoted });
  } catch (error) {
    await signWithWhatHolds(tools, keys);
    throw error;
  }
}

/** The newest key that is accepted; where the key is to stay, the one of now if it is. */
async function signWithWhatHolds(tools: Tools, keys: readonly HmacKey[]): Promise<void> {
  const newestFirst = [...keys.toReversed(), tools.target.key];
  for (const key of tools.mayReplaceKey ? newestFirst : [tools.target.key, ...newestFirst]) {
    const answer = await tools.signed(HEALTH, { key }).catch(() => undefined);
    if (answer?.status === 200) return tools.keyIsNow(key);
  }
}

/** What a check does that leaves the current key the current one. */
export const keeping =
  (check: Rotating): WebhookCheck['run'] =>
  (tools) =>
    turning(tools, (turn) => check(tools, turn));

/** What a check does after which the webhook has another key. */
export const replacing =
  (check: Rotating): WebhookCheck['run'] =>
  async (tools) => {
    if (!tools.mayReplaceKey)
      throw new CheckSkipped('the webhook was bound before the run, and its key is to hold after it');
    await turning(tools, (turn) => check(tools, turn));
  };

/** Reads padding too, so that it fails the check for it alone. */
function keyOf(answer: Answer): HmacKey | undefined {
  const { keyId: id, hmacSecret } = (answer.status === 200 && jsonObject(answer)) || {};
  if (typeof id !== 'string' || typeof hmacSecret !== 'string') return undefined;
  const secret = Buffer.from(hmacSecret, 'base64url');
  return secret.byteLength > 0 ? { id, secret } : undefined;
}
