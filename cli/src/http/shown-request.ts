import type { OutgoingRequest } from './outgoing-request.ts';

const HIDDEN = '…';
/** Query parameters that are as good as a credential. */
const SECRET_PARAMETERS = ['ticket', 'token', 'code', 'key'];

/** An address without what must not be shown. */
export function shownUrl(url: URL): string {
  const shown = new URL(url);
  for (const name of SECRET_PARAMETERS)
    if (shown.searchParams.has(name)) shown.searchParams.set(name, HIDDEN);
  return shown.href.replaceAll(encodeURIComponent(HIDDEN), HIDDEN);
}

/** A body without what must not be shown; its members stay, so that a reader sees what would be sent. */
export function shownBody({
  body,
  secretMembers = [],
}: Pick<OutgoingRequest, 'body' | 'secretMembers'>): object | undefined {
  if (body === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]: [string, unknown]) => [
      name,
      secretMembers === true || secretMembers.includes(name) ? HIDDEN : value,
    ]),
  );
}
