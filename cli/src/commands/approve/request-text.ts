import {
  type ApprovalFacts,
  type ApprovalScope,
  type HeaderPairs,
  bodyText,
  lookalikesIn,
  visibleLine,
  visibleText,
} from '@svault/shared';
import { coveredFields } from '@svault/shared/request-digest';
import stringWidth from 'string-width';
import { durationText } from '../../api/duration.ts';
import { timeAndDistance } from '../../output/print.ts';
import { type ProxyOperation, type ShownRequest, isAsSigned } from './asked-request.ts';

/** What is put before a person: the facts are signed, the rest is the webhook's word unless it says so. */
export interface ShownFacts {
  readonly facts: ApprovalFacts;
  readonly shown: ShownRequest;
  readonly decision: 'approve' | 'deny';
  readonly scope: ApprovalScope;
}

type Part = readonly [title: string, text: string];

const TITLE_COLUMNS = 13;
const MIN_COLUMNS = 40;

/**
 * A request in lines for a terminal. Parts of it are an attacker's words: each line begins with our own title or margin and
 * is broken here, so that none of them can look like another line, and what a terminal does not show is spelled out.
 *
 * @param columns of the terminal
 */
export function requestText(asked: ShownFacts, columns: number): string {
  const width = Math.max(MIN_COLUMNS, columns) - TITLE_COLUMNS;
  return partsOf(asked)
    .map(([title, text]) =>
      text
        .split('\n')
        .flatMap((line) => wrapped(line, width))
        .map((line, at) => `${(at === 0 ? title : '').padEnd(TITLE_COLUMNS)}${line}`.trimEnd())
        .join('\n'),
    )
    .map((part) => `${part}\n`)
    .join('');
}

function partsOf({ facts, shown, decision, scope }: ShownFacts): readonly Part[] {
  const { serviceName, sub, operation, askedAt, expiresAt, webhook } = facts;
  const nowMs = Date.now();
  return [
    ['credential', named(serviceName)],
    ['who asks', visibleLine(sub)],
    ...optional(
      'called',
      shown.name,
      (name) => `“${visibleLine(name)}” by the control plane; not signed${lookalikeNote(name)}`,
    ),
    ...(operation.type === 'credential'
      ? ([
          ['for what', 'the secret itself: anyone who gets it can keep it and use it for anything'],
        ] satisfies Part[])
      : proxyParts(operation, shown)),
    ...optional(
      'its reason',
      shown.reason,
      (reason) => `${quoted(reason)}\nin the caller’s own words; not signed`,
    ),
    ['asked', timeAndDistance(visibleLine(askedAt), nowMs)],
    ['until', timeAndDistance(visibleLine(expiresAt), nowMs)],
    ['webhook', visibleLine(webhook)],
    ['decision', decisionText(facts, decision, scope)],
  ];
}

const optional = (title: string, text: string | undefined, of: (text: string) => string): readonly Part[] =>
  text === undefined || text === '' ? [] : [[title, of(text)]];

/** With its characters pointed out that may look like others. */
const named = (name: string): string => `${visibleLine(name)}${lookalikeNote(name)}`;

function lookalikeNote(name: string): string {
  const found = lookalikesIn(name);
  if (found === undefined) return '';
  const list = found.named.map(({ character, code }) => `${visibleLine(character)} (${code})`).join(', ');
  const more = found.more > 0 ? ` and ${found.more} more` : '';
  return `\nit has characters that may look like plain letters: ${list}${more}`;
}

/** A margin tells its lines from ours. */
const quoted = (text: string): string =>
  visibleText(text)
    .split('\n')
    .map((line) => `│ ${line}`)
    .join('\n');

function proxyParts(operation: ProxyOperation, shown: ShownRequest): readonly Part[] {
  const { proxyId, method, url, mcp, tool, digest } = operation;
  const { host, protocol } = new URL(url);
  const plain = protocol === 'https:' ? '' : '\nby plain http, which others can read';
  return [
    ['for what', `one request by the proxy ${visibleLine(proxyId)}; the secret stays at the webhook`],
    ['host', `${visibleLine(host)}${plain}`],
    ['request', `${visibleLine(method)} ${visibleLine(url)}`],
    ...optional('MCP', mcp, visibleLine),
    ...optional('tool', tool, named),
    ['digest', visibleLine(digest)],
    ...contentParts(operation, shown),
  ];
}

function contentParts(operation: ProxyOperation, shown: ShownRequest): readonly Part[] {
  const { body = '', bodyBytes } = shown;
  // Others have no part in the digest, so that nobody knows whether they are sent.
  const fields = coveredFields(shown.fields ?? []);
  const header = fields.map(([name, value]) => `${name}: ${value}`).join('\n');
  const numbers =
    operation.mcp === undefined ? '' : '; id and _meta of the message are shown as 0 and may be others';
  return [
    ...optional('header', header, quoted),
    ['body', bodyBytes === undefined ? shownBody(fields, Buffer.from(body, 'base64')) : notShown(bodyBytes)],
    ['these are', `${checkText(isAsSigned(operation, shown))}${numbers}`],
  ];
}

const notShown = (bytes: number): string =>
  `${bytes} bytes that the webhook does not show: only the digest says what they are`;

function checkText(isSigned: boolean | undefined): string {
  if (isSigned === undefined) return 'not checked: the body is not here, and the digest above is of both';
  return isSigned
    ? 'as signed: they have the digest above'
    : 'NOT as signed: they do not have the digest above';
}

function shownBody(fields: HeaderPairs, bytes: Uint8Array): string {
  if (bytes.byteLength === 0) return 'none';
  const text = bodyText(fields, bytes);
  return text === undefined ? `${bytes.byteLength} bytes that are no plain text` : quoted(text);
}

function decisionText(
  { operation }: ApprovalFacts,
  decision: ShownFacts['decision'],
  scope: ApprovalScope,
): string {
  if (decision === 'deny') return 'deny, and the same request for ten minutes';
  if (scope === 'once') return 'approve once';
  const covered =
    operation.type === 'credential'
      ? 'every delivery of this credential to this caller'
      : operation.mcp === undefined
        ? 'every request of this caller with this method to this path, whatever its query, header fields and body are'
        : `every ${operation.tool === undefined ? 'message of this caller with this method of MCP' : 'call of this tool by this caller'}, whatever its arguments are`;
  return `allow for ${durationText(Number(scope.slice('standing:'.length)))}: ${covered}`;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** In pieces of that many columns at most; a line that is quoted keeps its margin. */
function wrapped(line: string, width: number): readonly string[] {
  const margin = line.startsWith('│ ') ? '│ ' : '';
  const pieces: string[] = [];
  let piece = '';
  let columns = 0;
  for (const { segment } of graphemes.segment(line)) {
    const more = stringWidth(segment);
    if (columns + more > width) {
      pieces.push(piece);
      piece = margin;
      columns = margin.length;
    }
    piece += segment;
    columns += more;
  }
  return [...pieces, piece];
}
