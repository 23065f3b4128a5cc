import type { z } from 'zod';
import { Failure } from '../failure.ts';
import { jsonIn } from '../json-in.ts';
import type { IncomingAnswer } from './outgoing-request.ts';
import { refusalOf } from './refusal.ts';

/**
 * What an answer says.
 * @param from who answered
 * @throws Failure for a refusal, and for what no svault answers
 */
export function understood<T>(answer: IncomingAnswer, from: URL, schema: z.ZodType<T>): T {
  if (answer.status < 200 || answer.status > 299) throw refusalOf(answer, from);
  const read = schema.safeParse(answer.text === '' ? undefined : jsonIn(answer.text));
  if (read.success) return read.data;
  throw new Failure('failed', `${from.host} does not answer as a svault does; is the address right?`, {
    cause: read.error,
  });
}
