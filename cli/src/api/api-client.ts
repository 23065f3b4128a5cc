import * as z from 'zod';
import { type ActingLogin, actingLogin } from '../contexts/acting-login.ts';
import { ENVIRONMENT_NAME } from '../contexts/context-name.ts';
import { Failure, failed } from '../failure.ts';
import { DryRunDone, showInstead } from '../http/dry-run.ts';
import { type IncomingAnswer, type OutgoingRequest, send, sendStreamed } from '../http/send.ts';
import { refusalOf, understood } from '../http/refusal.ts';
import { sendWithRetries } from '../http/send-with-retries.ts';
import type { Invocation } from '../invocation.ts';
import type { Addressed } from './wrong-address.ts';

/** A client of the control plane that is signed in. Every call throws Failure for a response that is not a success. */
export interface ApiClient {
  readonly login: ActingLogin;
  /** Whether nothing is sent (`--dry-run`). */
  readonly dryRun: boolean;
  /** GET. Under `--dry-run` it is shown, and `dryAnswer` replaces the response; without it, the command ends there. */
  read<T>(path: string, schema: z.ZodType<T>, dryAnswer?: T): Promise<T>;
  /** GET of a document that grows with the account. */
  readLarge<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  /** GET of what is read as it comes, which may have no end. Under `--dry-run` it is shown, and the command ends there. */
  readStream(path: string): Promise<AsyncIterable<Uint8Array>>;
  /** GET of a list, page by page, to its end or to `limit` items. */
  readAll<T>(path: string, itemSchema: z.ZodType<T>, limit?: number): Promise<T[]>;
  /** GET whose answer is a redirect, which is not followed. Under `--dry-run` it is shown. @returns its address, or `dryLocation` */
  readRedirect(path: string, dryLocation: string): Promise<string>;
  /** Sends a change. Under `--dry-run` it is shown, and `dryAnswer` replaces the response. */
  change<T>(change: Change<T>): Promise<T>;
}

interface Change<T> {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  /** Members of the body whose values `--dry-run` does not show. */
  readonly secretMembers?: readonly string[];
  readonly schema: z.ZodType<T>;
  /** What a command goes on with under `--dry-run`; without it, the command ends there. */
  readonly dryAnswer?: T;
}

/** A call of a control plane, whose failure names a wrong address as such. @throws Failure */
export async function atControlPlane<T>(
  invocation: Invocation,
  addressed: Addressed,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Failure) || !(error.isOfAddress || error.code === 'NOT_FOUND')) throw error;
    const { explainAddress } = await import('./wrong-address.ts');
    throw await explainAddress(invocation, addressed, error);
  }
}

/** Of answers that say nothing (204). */
export const nothingSchema = z.undefined();

const PAGE_ITEMS = 100;
/** An account of 100,000 agents, each with ten grants, is less. */
const MAX_DOCUMENT_BYTES = 512 * 1024 * 1024;
/** More than any account has. */
const MAX_PAGES = 1_000;

/**
 * @param who 'admin' refuses an agent's login before anything is sent
 * @param options.renews false: a session that is about to end is not renewed, and the call fails
 * @throws Failure denied
 */
export async function apiClient(
  invocation: Invocation,
  who: 'admin' | 'anybody' = 'admin',
  options: { readonly renews?: false } = {},
): Promise<ApiClient> {
  const login = await actingLogin(invocation, options);
  const { baseUrl, kind, name } = login.context;
  if (who === 'admin' && kind === 'agent')
    throw new Failure(
      'denied',
      `${name === ENVIRONMENT_NAME ? 'SVAULT_KEY is an agent’s key' : `${name} is an agent’s login`}, and this takes an admin’s: svault login, or --context`,
    );
  const dry = invocation.flags.dryRun === true;

  const askBy = async <Answer extends IncomingAnswer>(
    sendOnce: (invocation: Invocation, request: OutgoingRequest) => Promise<Answer>,
    request: OutgoingRequest,
  ): Promise<Answer> => {
    const authorization = await login.authorization();
    const first = await sendWithRetries(invocation, { ...request, authorization }, sendOnce);
    const renewed = first.status === 401 ? await login.renewed() : undefined;
    return renewed === undefined
      ? first
      : sendWithRetries(invocation, { ...request, authorization: renewed }, sendOnce);
  };
  const ask = (request: OutgoingRequest): Promise<IncomingAnswer> => askBy(send, request);
  const urlOf = (path: string): URL => new URL(baseUrl + path);
  const shownInstead = <T>(request: OutgoingRequest, dryAnswer?: T): T => {
    showInstead(invocation, request);
    if (dryAnswer === undefined) throw new DryRunDone();
    return dryAnswer;
  };
  const addressed = { baseUrl, login: name };
  const answerTo = async <T>(request: OutgoingRequest, schema: z.ZodType<T>, dryAnswer?: T): Promise<T> =>
    dry
      ? shownInstead(request, dryAnswer)
      : atControlPlane(invocation, addressed, async () =>
          understood(await ask(request), request.url, schema),
        );

  return {
    login,
    dryRun: dry,
    read: (path, schema, dryAnswer) => answerTo({ method: 'GET', url: urlOf(path) }, schema, dryAnswer),
    readLarge: (path, schema) =>
      answerTo({ method: 'GET', url: urlOf(path), maxAnswerBytes: MAX_DOCUMENT_BYTES }, schema),
    readStream: async (path) => {
      const request = { method: 'GET', url: urlOf(path) } as const;
      if (dry) return shownInstead(request);
      return atControlPlane(invocation, addressed, async () => {
        const answer = await askBy(sendStreamed, request);
        if (answer.status !== 200) throw refusalOf(answer, request.url);
        return answer.chunks;
      });
    },
    readRedirect: async (path, location) => {
      const request = { method: 'GET', url: urlOf(path) } as const;
      if (dry) return shownInstead(request, location);
      return atControlPlane(invocation, addressed, async () => {
        const answer = await ask(request);
        const found = answer.headers.get('location');
        // Any other redirect comes from a party in between.
        if (answer.status === 307 && found !== undefined) return found;
        throw refusalOf(answer, request.url);
      });
    },
    readAll: async (path, itemSchema, limit = Infinity) => {
      const pageSchema = z.object({ items: z.array(itemSchema), nextCursor: z.string().optional() });
      const items: z.output<typeof itemSchema>[] = [];
      const cursors = new Set<string | undefined>();
      for (let cursor: string | undefined; ;) {
        if (cursors.has(cursor) || cursors.size === MAX_PAGES)
          throw failed(`${urlOf(path).host} gives a list that does not end`);
        cursors.add(cursor);
        const url = urlOf(path);
        url.searchParams.set('limit', String(Math.min(PAGE_ITEMS, limit - items.length)));
        if (cursor !== undefined) url.searchParams.set('cursor', cursor);
        const page = await answerTo({ method: 'GET', url }, pageSchema);
        items.push(...page.items);
        cursor = page.nextCursor;
        if (cursor === undefined || items.length >= limit) return items.slice(0, limit);
      }
    },
    change: ({ path, schema, dryAnswer, ...request }) =>
      answerTo({ ...request, url: urlOf(path) }, schema, dryAnswer),
  };
}
