import type { Approval, ApprovalRequest } from '../core/approval.ts';

/** What people are told. It decides nothing, and has nothing that is secret: only the link leads on. */
export type Message =
  | ({ readonly type: 'approval_requested' } & ApprovalNotice)
  /** In place of those that come too many. */
  | { readonly type: 'more_waiting'; readonly url: string }
  | { readonly type: 'test'; readonly url: string };

/** Texts of agents and their owners, cleaned by {@link oneLine}. */
export interface ApprovalNotice {
  readonly approvalId: string;
  readonly kind: Approval['kind'];
  /** Of the agent or proxy; its id where it is gone. */
  readonly caller: string;
  /** The host where no credential is used. */
  readonly serviceName: string;
  /** Host and path, never a query or a body. */
  readonly request:
    | { readonly method: string; readonly host: string; readonly path: string; readonly tool?: string }
    | undefined;
  readonly reason: string | undefined;
  readonly expiresAt: string;
  /** Where it is decided: the console, or the webhook. */
  readonly url: string;
}

const MAX = { name: 100, service: 128, path: 300, reason: 200 } as const;

/** Says what an approval is about. @param baseUrl without trailing slash */
export function noticeOf(approval: Approval, callerName: string | undefined, baseUrl: string): Message {
  const { id, kind, callerId, serviceName, request, reason, expiresAt } = approval;
  const called = request === undefined ? undefined : shownRequest(JSON.parse(request) as ApprovalRequest);
  return {
    type: 'approval_requested',
    ...{ approvalId: id, kind, expiresAt },
    caller: oneLine(callerName ?? callerId, MAX.name),
    serviceName: oneLine(serviceName || (called?.host ?? ''), MAX.service),
    request: called,
    reason: reason === undefined ? undefined : oneLine(reason, MAX.reason),
    url: approval.url ?? `${baseUrl}/approvals/${id}`,
  };
}

function shownRequest({ method, url, tool }: ApprovalRequest): ApprovalNotice['request'] {
  const { host, pathname } = new URL(url);
  return {
    method: oneLine(method, MAX.name),
    host,
    path: oneLine(pathname, MAX.path),
    ...(tool !== undefined && { tool: oneLine(tool, MAX.name) }),
  };
}

/**
 * A text that cannot pass for more than one line, or be read in another order than it is written: white space becomes a
 * space, and control, format (bidi marks, zero width) and private characters vanish.
 *
 * @param maxCharacters code points; what is longer ends in an ellipsis
 */
export function oneLine(text: string, maxCharacters: number): string {
  const plain = text
    .toWellFormed()
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, '')
    .trim();
  const characters = [...plain];
  return characters.length <= maxCharacters ? plain : `${characters.slice(0, maxCharacters).join('')}…`;
}

/** How a kind of channel writes what it must not take for markup, and a link. */
export interface Writing {
  readonly quote: (text: string) => string;
  /** Of an agent's own words; like the others unless given. */
  readonly quoteReason?: (text: string) => string;
  readonly link: (url: string) => string;
}

const quoted = (text: string): string => `“${text.replaceAll(/[“”]/g, '"')}”`;

export const PLAIN: Writing = { quote: quoted, link: (url) => url };

/** Mail programs make a link of whatever looks like an address, and an agent's must not stand beside ours. */
export const MAIL: Writing = {
  ...PLAIN,
  quoteReason: (text) => quoted(text.replaceAll('://', '[:]//').replaceAll(/\.(?=[\p{L}\p{N}])/gu, '[.]')),
};

/**
 * Slack's markup, and what is compatible: within backquotes nothing is a link, a mention or emphasis, in Markdown as well.
 * `&`, `<` and `>` are Slack's own escapes.
 */
export const SLACK: Writing = {
  quote: (text) => `\`${slackEscaped(text.replaceAll('`', "'")) || ' '}\``,
  link: (url) => `<${slackEscaped(url).replaceAll('|', '%7C')}>`,
};

const slackEscaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** One line: a subject, a title. */
export function titleOf(message: Message, { quote }: Writing): string {
  switch (message.type) {
    case 'approval_requested': {
      const { caller, serviceName, kind } = message;
      const what = kind === 'access' ? 'access to ' : '';
      return `${quote(caller)} asks for ${what}${quote(serviceName)}`;
    }
    case 'more_waiting':
      return 'More requests wait for a decision';
    case 'test':
      return 'A test of svault';
  }
}

/** What follows the title, in lines, without the link. */
export function detailsOf(message: Message, { quote, quoteReason = quote }: Writing): string[] {
  switch (message.type) {
    case 'approval_requested': {
      const { request, reason, expiresAt } = message;
      const called = request && `${request.method} ${request.host}${request.path}`;
      return [
        ...(called === undefined ? [] : [`Request: ${quote(called)}`]),
        ...(request?.tool === undefined ? [] : [`Tool: ${quote(request.tool)}`]),
        ...(reason === undefined ? [] : [`Reason, as the agent wrote it: ${quoteReason(reason)}`]),
        `It can be decided until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC.`,
      ];
    }
    case 'more_waiting':
      return ['This channel had as many messages as it gets in an hour; the rest of them is left out.'];
    case 'test':
      return ['Messages of approvals arrive here.'];
  }
}

/** All of it as one text. */
export const textOf = (message: Message, writing: Writing): string =>
  [titleOf(message, writing), ...detailsOf(message, writing), writing.link(message.url)].join('\n');
