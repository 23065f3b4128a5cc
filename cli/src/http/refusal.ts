import * as z from 'zod';
import { type ExitName, Failure } from '../failure.ts';
import { jsonIn } from '../json-in.ts';
import { plainLine } from '../output/plain-line.ts';
import type { IncomingAnswer } from './send.ts';

const bodySchema = z.object({
  error: z.string(),
  code: z.string().regex(/^[A-Z_]{3,64}$/),
  retryAfter: z.number().optional(),
  policy: z.string().optional(),
  reason: z.string().optional(),
  providerReason: z.string().optional(),
  // Of a newer control plane it may be another one.
  approval: z.object({ id: z.string(), status: z.string(), url: z.string() }).optional().catch(undefined),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

const MAX_MESSAGE = 1_000;
/** What the control plane says where the issues are all there is to say. */
const NOTHING_MORE = 'The request has members that do not fit.';

const EXIT_OF_STATUS: Readonly<Record<number, ExitName>> = {
  401: 'denied',
  403: 'denied',
  404: 'notFound',
  423: 'unavailable',
  429: 'rateLimited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

/** Codes whose status would say too much or too little here. */
const EXIT_OF_CODE: Readonly<Record<string, ExitName>> = {
  // A consumed ticket or a wrong clock; it says nothing about who is signed in.
  TICKET_INVALID: 'failed',
  // The webhook answered: it does not want to.
  WEBHOOK_REFUSED: 'failed',
};

/**
 * What a control plane or a webhook says no with, as a failure with its documented code.
 * @param from who answered, for one that is no svault at all
 */
export function refusalOf({ status, headers, text }: IncomingAnswer, from: URL): Failure {
  const body = bodySchema.safeParse(jsonIn(text)).data;
  if (body === undefined) {
    const exit = status >= 502 && status <= 504 ? 'unavailable' : 'failed';
    const elsewhere = URL.parse(headers.get('location') ?? '')?.origin;
    const answered = `something else answered ${status}${elsewhere === undefined ? '' : `, which leads to ${plainLine(elsewhere)}`}`;
    return new Failure(exit, `no svault answers at ${from.host}: ${answered}`, { isOfAddress: true });
  }
  const { error, code, issues = [], retryAfter, policy, reason, providerReason, approval } = body;
  const details = [
    ...issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)),
    ...(policy === undefined || error.includes(policy) ? [] : [`policy ${policy}`]),
    ...(reason === undefined || error.includes(reason) ? [] : [reason]),
    ...(providerReason === undefined ? [] : [`the provider: ${providerReason}`]),
    ...(approval?.status === 'pending' ? [`a person decides at ${approval.url}`] : []),
    ...(approval?.status === 'denied' ? [`denied by a person: ${approval.url}`] : []),
    ...(retryAfter === undefined ? [] : [`again in ${retryAfter} s`]),
  ];
  const message = details.length === 0 ? error : `${error} (${details.join('; ')})`;
  const exit = EXIT_OF_CODE[code] ?? EXIT_OF_STATUS[status] ?? 'failed';
  return new Failure(exit, plainLine(message).slice(0, MAX_MESSAGE), {
    code,
    approval,
    retryAfterSeconds: retryAfter ?? secondsIn(headers.get('retry-after')),
    ...(error === NOTHING_MORE && { issues }),
  });
}

const secondsIn = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;

/** What an answer says. @param from who answered. @throws Failure for a refusal, and for what no svault answers */
export function understood<T>(answer: IncomingAnswer, from: URL, schema: z.ZodType<T>): T {
  if (answer.status < 200 || answer.status > 299) throw refusalOf(answer, from);
  const read = schema.safeParse(answer.text === '' ? undefined : jsonIn(answer.text));
  if (read.success) return read.data;
  throw new Failure('failed', `no svault answers at ${from.host}: its answer is none of svault`, {
    cause: read.error,
    isOfAddress: true,
  });
}
