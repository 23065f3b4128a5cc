import { cursorOf } from '../../src/core/paging.ts';
import { fromBase64url } from '@svault/shared';
import { type Answer, clientOf } from '../support/management-service.ts';
import { type Account, type TwoAccounts, neverExisted } from './accounts.ts';
import { type Operation, type RequestFields, requestOf } from './document.ts';
import type { Probe } from './probes.ts';

/** One answer to the stranger, and what the request said. */
export interface Heard {
  readonly said: RequestFields;
  readonly answer: Answer;
}

/** The same request about two things, each with fresh things of one's own beside it. */
export interface Questions {
  readonly foreign: () => Promise<Heard>;
  readonly unknown: () => Promise<Heard>;
}

/** Asks one operation as the stranger. */
export function interviewer(accounts: TwoAccounts, operation: Operation, probe: Probe) {
  const { owner, stranger, service, unboundWebhook } = accounts;
  const { names = {}, says = {}, ownInstead = {}, prepare, restore } = probe;
  const plain = (account: Account): RequestFields => (typeof says === 'function' ? says(account) : says);

  /** A request of an account about its own things, each made for it. */
  async function ownThings(
    account: Account,
    instead: Readonly<Record<string, () => string>>,
  ): Promise<RequestFields> {
    let said: RequestFields = plain(account);
    for (const [place, kind] of Object.entries(names)) {
      const make = (): Promise<string> =>
        kind === 'cursor' ? someCursor(account, said) : account.make(kind, said);
      said = { ...said, [place]: placed(place, instead[place]?.() ?? (await make())) };
    }
    return said;
  }

  /** A name as its place takes it. */
  const placed = (place: string, value: string): unknown => {
    if (['tokenInList', 'agentInList'].includes(names[place] ?? '')) return [value];
    return names[place] === 'agentAsAttachment' ? [{ targetType: 'agent', targetId: value }] : value;
  };

  /** The cursor behind the first of two items of an account's own list. */
  async function someCursor(account: Account, said: RequestFields): Promise<string> {
    const { method, path } = requestOf(operation, { ...said, 'query.limit': 1 });
    const { nextCursor } = (await account.call(method, path)).json as { nextCursor?: string };
    if (nextCursor === undefined) throw new Error(`${operation.id} has too few items for a cursor`);
    return nextCursor;
  }

  async function ask(said: RequestFields): Promise<Heard> {
    await prepare?.(stranger);
    const { method, path, body } = requestOf(operation, said);
    const call = operation.isPublic ? clientOf(service.running.url) : stranger.call;
    const answer = await call(method, path, { body });
    await restore?.(stranger, said);
    return { said, answer };
  }

  return {
    /** With things of one's own: succeeds, or the other questions would prove nothing. */
    own: async (): Promise<Heard> => ask(await ownThings(stranger, ownInstead)),

    /** About what one place names; the other account's thing is made now. */
    about: async (place: string): Promise<Questions> => {
      const value = nameIn((await ownThings(owner, {}))[place]);
      // What a cursor goes through stays the same; everything else a question could have changed.
      const list = names[place] === 'cursor' ? await ownThings(stranger, {}) : undefined;
      const withIt = (it: string) => async (): Promise<Heard> =>
        ask({ ...(list ?? (await ownThings(stranger, {}))), [place]: placed(place, it) });
      const unknown =
        names[place] === 'cursor'
          ? cursorBeside(value)
          : names[place] === 'webhookUrl'
            ? unboundWebhook.url
            : neverExisted(value);
      return {
        foreign: withIt(value),
        unknown: withIt(unknown),
      };
    },
  };
}

/** The name that a place holds. */
function nameIn(said: unknown): string {
  const item: unknown = Array.isArray(said) ? said[0] : said;
  return typeof item === 'string' ? item : (item as { readonly targetId: string }).targetId;
}

/** The cursor of the same place in a list, behind an item that never existed. */
function cursorBeside(cursor: string): string {
  const key = JSON.parse(String(fromBase64url(cursor))) as string[];
  const last = key.at(-1) ?? '';
  const end = last.endsWith('A') ? 'B' : 'A';
  return cursorOf([...key.slice(0, -1), last.slice(0, -1) + end]);
}

const VARYING_HEADERS = ['date', 'x-request-id'];
const MADE_ANEW = [/\b[a-z]{3}_[\w-]{22}\b/g, /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g];

/** Everything of an answer that somebody could tell two of them apart by. */
export function outside({ said, answer }: Heard, place: string, ownNamespace: boolean): object {
  const headers = [...answer.headers].filter(([name]) => !VARYING_HEADERS.includes(name));
  if (!ownNamespace) return { status: answer.status, headers, text: answer.text };
  const withoutIt = answer.text.replaceAll(String(said[place]), '‹it›');
  return {
    status: answer.status,
    headers: headers.filter(([name]) => name !== 'content-length'),
    text: MADE_ANEW.reduce((text, pattern) => text.replaceAll(pattern, '‹new›'), withoutIt),
  };
}
