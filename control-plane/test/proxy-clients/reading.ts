import { once } from 'node:events';
import { type Agent, type IncomingMessage, request } from 'node:http';
import type { Door } from './door.ts';

export interface ReadingOptions {
  readonly method?: 'GET' | 'POST';
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly agent?: Agent;
}

/** Sends a request through a door and hands the answer out once its head is there, unread. */
export async function open(door: Door, options: ReadingOptions = {}): Promise<IncomingMessage> {
  const { method = 'GET', body, headers, ...others } = options;
  const authorization = `Bearer ${door.bearer}`;
  const sent = request(door.url, { method, headers: { authorization, ...headers }, ...others });
  // Who waits for leave to go on has it before the body.
  if (headers?.['expect'] !== undefined) {
    sent.flushHeaders();
    await once(sent, 'continue');
  }
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

/** The rest of an answer's body. Rejects where it breaks off. */
export async function rest(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) text += String(piece);
  return text;
}

/** As `rest`, and nothing of it is kept. @returns how many bytes there were */
export async function restLength(answer: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const piece of answer) bytes += (piece as Buffer).byteLength;
  return bytes;
}
