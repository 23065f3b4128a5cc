import { NotTestable } from '../../check/outcome.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import type { Answer } from '../../http/client.ts';
import { jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';

type Members = Readonly<Record<string, unknown>>;

/** `tokens.get` of a record that is there. @throws CheckFailed */
export async function metadataOf(
  tools: Tools,
  serviceName: string,
): Promise<{ readonly answer: Answer; readonly token: Members }> {
  const answer = await tools.storage({ op: 'tokens.get', serviceName });
  return { answer, token: expectOk(answer) };
}

/** What a store is answered with, where that is what the check needs first. @throws NotTestable */
export async function storedVersion(
  tools: Tools,
  serviceName: string,
  body: object,
  deviation?: TicketDeviation,
): Promise<number> {
  const answer = await tools.store(serviceName, body, deviation);
  const version = jsonObject(answer)?.['version'];
  if (answer.status !== 200 || typeof version !== 'number')
    throw new NotTestable('setup failed: the record could not be stored', answer);
  return version;
}

/** Expects that a record is delivered with this secret. @throws CheckFailed */
export async function expectDelivered(
  tools: Tools,
  serviceName: string,
  value: string,
  why: string,
): Promise<void> {
  const answer = await tools.fetchCredential(tools.ticket('credential', serviceName));
  const { token } = expectOk(answer);
  const delivered = isMembers(token) ? token['accessToken'] : undefined;
  expectThat(delivered === value, answer, why);
}

/** One page of a list. @throws CheckFailed where it is none */
export async function pageOf(
  tools: Tools,
  operation: object,
): Promise<{
  readonly answer: Answer;
  readonly items: readonly Members[];
  readonly next: string | undefined;
}> {
  const answer = await tools.storage(operation);
  const { items, nextCursor } = expectOk(answer);
  expectThat(Array.isArray(items) && items.every(isMembers), answer, 'items, a list of objects');
  expectThat(
    nextCursor === undefined || nextCursor === null || typeof nextCursor === 'string',
    answer,
    'nextCursor, a text, where there is a further page, and none where there is not',
  );
  return { answer, items, next: nextCursor ?? undefined };
}

/** More pages than any list of a run that is cut as asked. */
const MAX_PAGES = 60;

/** All pages of a list, by their cursors. @throws CheckFailed where a list does not end */
export async function allOf(
  tools: Tools,
  operation: object,
): Promise<{ readonly answer: Answer; readonly items: readonly Members[]; readonly pages: number }> {
  let page = await pageOf(tools, operation);
  const items = [...page.items];
  let pages = 1;
  for (; page.next !== undefined; pages++) {
    expectThat(pages < MAX_PAGES, page.answer, 'a list that ends');
    page = await pageOf(tools, { ...operation, cursor: page.next });
    items.push(...page.items);
  }
  return { answer: page.answer, items, pages };
}

const SHOWN_IDS = 3;

/** How a list differs from what it should hold, each once: `2 lost: a, b; 1 repeated: c`. Empty where it does not. */
export function differenceOf(wanted: readonly string[], returned: readonly string[]): string {
  const differences = {
    lost: wanted.filter((id) => !returned.includes(id)),
    repeated: returned.filter((id, at) => returned.indexOf(id) !== at),
    foreign: returned.filter((id) => !wanted.includes(id)),
  };
  return Object.entries(differences)
    .filter(([, ids]) => ids.length > 0)
    .map(([what, ids]) => {
      const more = ids.length > SHOWN_IDS ? ', …' : '';
      return `${ids.length} ${what}: ${ids.slice(0, SHOWN_IDS).join(', ')}${more}`;
    })
    .join('; ');
}

/** Whether a value is a JSON object. */
export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether two lists of texts hold the same, in whatever order. */
export function sameTexts(returned: unknown, wanted: readonly string[]): boolean {
  return (
    Array.isArray(returned) &&
    returned.length === wanted.length &&
    wanted.every((each) => (returned as readonly unknown[]).includes(each))
  );
}
