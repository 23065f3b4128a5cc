import type { PageContent } from '@svault/server-kit/html-page';
import { durationText } from '@svault/server-kit/page-parts';
import { type SafeHtml, safeHtml } from '@svault/server-kit/safe-html';
import { type ApprovalFacts, type HeaderPairs, bodyText, formatTime } from '@svault/shared';
import type { ShownRequest } from './ask.ts';
import type { ApprovalView, Decision } from './decide.ts';
import { PASSKEY_SCRIPT } from './page-script.ts';
import { lookalikeNote, untrustedBlock, untrustedWord } from './untrusted-text.ts';

/** The pages of approvals. The browser tests visit each. */
export const APPROVAL_PAGE_NAMES = [
  'approval',
  'approval-closed',
  'approval-unknown',
  'enrol',
  'enrolled',
  'enrol-invalid',
] as const;

export interface ApprovalPage extends PageContent {
  readonly name: (typeof APPROVAL_PAGE_NAMES)[number];
}

type Proxied = Extract<ApprovalFacts['operation'], { readonly type: 'proxy' }>;

/** Posts to `{path}/options`, has a passkey sign, posts to `{path}/decision`, and opens another page. Works by the script alone. */
const passkeyButton = (
  label: string,
  action: {
    readonly path: string;
    readonly ceremony: 'get' | 'create';
    readonly fields: object;
    /** Once it is done. */
    readonly opens: string;
    readonly quiet?: boolean;
  },
): SafeHtml =>
  safeHtml`<button type="button" disabled${action.quiet === true ? safeHtml` class="quiet"` : undefined} data-post="${action.path}"
 data-ceremony="${action.ceremony}" data-fields="${JSON.stringify(action.fields)}" data-opens="${action.opens}">${label}</button>`;

const OUTCOME = safeHtml`<p id="outcome" role="status" class="dim">This page needs JavaScript, which asks for your passkey.</p>`;

/** Asks for a decision, or, where one was made that can be revoked, shows that. */
export function approvalPage(view: ApprovalView, nowMs: number): ApprovalPage {
  const { signed, status } = view;
  if (signed === undefined || (status !== 'pending' && status !== 'approved')) return closedPage(view);
  const { facts } = signed;
  return {
    name: 'approval',
    title: titleOf(facts, status === 'approved'),
    script: PASSKEY_SCRIPT,
    body: safeHtml`${status === 'approved' ? safeHtml`<p class="note">${approvedText(view)}</p>` : undefined}
${factsOf(view, facts)}
${facts.operation.type === 'proxy' ? requestOf(view, facts.operation) : undefined}
${reasonOf(view)}
<p class="dim">${historyOf(view)}</p>
${status === 'approved' ? undefined : deadlineOf(view, nowMs)}
${allowanceOf(view, facts)}
${
  view.hasApprovers
    ? safeHtml`<div class="actions stay">${buttonsOf(view)}
${OUTCOME}</div>`
    : undefined
}`,
    next: view.hasApprovers
      ? safeHtml`<p class="dim">Your passkey signs the request and your decision, and the webhook’s log keeps the signature. The
caller’s name and reason are not signed.</p>`
      : safeHtml`<p>There is no approver yet. Run <code>approver-link</code> on the webhook’s machine and open the link that it
prints.</p>`,
  };
}

const titleOf = ({ operation }: ApprovalFacts, isApproved: boolean): string => {
  const what = operation.type === 'credential' ? 'Hand out this credential' : 'Make this request';
  return isApproved ? `Approved: ${what.charAt(0).toLowerCase()}${what.slice(1)}` : `${what}?`;
};

function approvedText({ standingSeconds, expiresAtMs, approver }: ApprovalView): string {
  const by = approver === undefined ? '' : ` by ${approver.name}`;
  const until = utc(expiresAtMs);
  return standingSeconds === undefined
    ? `Approved once${by}, to be used until ${until}.`
    : `Allowed${by} until ${until}.`;
}

const utc = (ms: number): string => `${formatTime(ms).slice(0, 16).replace('T', ' ')} UTC`;

/** What is signed comes first, so that no text of a caller’s choice moves it out of sight. */
function factsOf({ shown }: ApprovalView, { serviceName, sub, operation }: ApprovalFacts): SafeHtml {
  const { name } = shown;
  return safeHtml`<dl class="facts">
<dt>Credential</dt>
<dd>${untrustedValue(serviceName, 'The credential')}</dd>
<dt>Caller</dt>
<dd>${untrustedValue(sub, 'The caller')}</dd>
<dt>Use</dt>
<dd>${
    operation.type === 'credential'
      ? safeHtml`<strong>The secret itself.</strong> Anyone who gets it can keep it and use it for anything.`
      : safeHtml`One request through a proxy. The secret stays at the webhook.`
  }</dd>
${operation.type === 'proxy' ? targetOf(operation) : undefined}
${noteOn('The credential’s name', serviceName)}
${
  name === undefined
    ? undefined
    : safeHtml`<dt>Name</dt><dd>“${untrustedWord(name)}” (from the control plane, not verified)</dd>
${noteOn('That name', name)}`
}
</dl>`;
}

/** Characters of a name that look like others, pointed out. */
function noteOn(what: string, name: string): SafeHtml | undefined {
  const note = lookalikeNote(name);
  return note && safeHtml`<dt>Beware</dt><dd class="dim">${what} has ${note}.</dd>`;
}

/** Longer ones scroll in a box of their own. */
const MAX_IN_LINE = 60;

const untrustedValue = (text: string, label: string): SafeHtml =>
  text.length > MAX_IN_LINE
    ? untrustedBlock(text, label)
    : safeHtml`<code><strong>${untrustedWord(text)}</strong></code>`;

function targetOf({ method, url, mcp, tool }: Proxied): SafeHtml {
  const { protocol, host } = new URL(url);
  const rest = url.slice(`${protocol}//${host}`.length);
  const [path, query] = splitOnce(rest, '?');
  const isPlain = protocol !== 'https:';
  return safeHtml`<dt>Host</dt>
<dd>${untrustedValue(host, 'The host')}${isPlain ? safeHtml` <strong>by plain http, which others can read</strong>` : undefined}</dd>
${tool === undefined ? undefined : safeHtml`<dt>Tool</dt><dd>${untrustedValue(tool, 'The tool')}</dd>`}
<dt>Request</dt>
<dd><code><strong>${untrustedWord(method)}</strong></code> ${untrustedValue(path, 'The path')}</dd>
${query === undefined ? undefined : safeHtml`<dt>Query</dt><dd>${untrustedValue(query, 'The query')}</dd>`}
${mcp === undefined ? undefined : safeHtml`<dt>MCP</dt><dd>${untrustedValue(mcp, 'The method of MCP')}</dd>`}
${tool === undefined ? undefined : noteOn('The tool’s name', tool)}`;
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** What the digest is of, fully, or the plain statement that only the digest is known. */
function requestOf({ shown }: ApprovalView, operation: Proxied): SafeHtml {
  const { fields = [] } = shown;
  return safeHtml`${bodyOf(shown, operation)}
${fields.length === 0 ? undefined : untrustedPart('Header fields', linesOf(fields))}`;
}

const linesOf = (fields: HeaderPairs): string =>
  fields.map(([name, value]) => `${name}: ${value}`).join('\n');

const untrustedPart = (label: string, text: string): SafeHtml =>
  safeHtml`<h2>${label}</h2>
${untrustedBlock(text, label)}`;

const digestOnly = (what: string, { digest }: Proxied): SafeHtml =>
  safeHtml`<h2>Body</h2>
<p class="alert">${what} Its digest is signed: <code>${digest}</code></p>`;

function bodyOf({ body, bodyBytes, fields = [] }: ShownRequest, operation: Proxied): SafeHtml | undefined {
  if (bodyBytes !== undefined)
    return digestOnly(`The body has ${bodyBytes} bytes and cannot be shown here.`, operation);
  if (body === undefined || body === '') return undefined;
  const bytes = Buffer.from(body, 'base64');
  const text = bodyText(fields, bytes);
  if (text === undefined)
    return digestOnly(
      `The body has ${bytes.byteLength} bytes that are not text in UTF-8, and cannot be shown here.`,
      operation,
    );
  const part = untrustedPart('Body', text);
  return operation.mcp === undefined ? part : safeHtml`${part}${REPEATED}`;
}

/** PROTOCOL.md APR-18. */
const REPEATED = safeHtml`<p class="dim">The values of <code>id</code> and <code>_meta</code> are not covered, and 0 here: they change when a
client repeats a message.</p>`;

function reasonOf({ shown }: ApprovalView): SafeHtml | undefined {
  if (shown.reason === undefined || shown.reason === '') return undefined;
  return safeHtml`<h2>Reason</h2>
<p class="dim">In the caller’s own words, which nobody has checked.</p>
${untrustedBlock(shown.reason, 'The reason given')}`;
}

function historyOf({ counts: { asked, approved, denied } }: ApprovalView): string {
  const times = asked === 1 ? 'once' : `${asked} times`;
  return `In the last 24 hours this caller asked ${times}: ${approved} approved, ${denied} denied.`;
}

function deadlineOf({ expiresAtMs }: ApprovalView, nowMs: number): SafeHtml {
  const left = durationText(Math.max(1, (expiresAtMs - nowMs) / 1000));
  return safeHtml`<p class="dim">Expires in ${left}, at ${utc(expiresAtMs)}.</p>`;
}

/** What an allowance would cover, or covers. */
function allowanceOf(
  { status, maxStandingSeconds, standingSeconds }: ApprovalView,
  { operation }: ApprovalFacts,
): SafeHtml | undefined {
  if (status === 'approved')
    return standingSeconds === undefined
      ? undefined
      : safeHtml`<p class="note">It covers ${coveredBy(operation)}.</p>`;
  return maxStandingSeconds === undefined
    ? undefined
    : safeHtml`<p class="note">“${allowLabel(maxStandingSeconds)}” covers ${coveredBy(operation)}.</p>`;
}

const allowLabel = (seconds: number): string => `Allow for ${durationText(seconds)}`;

function coveredBy(operation: ApprovalFacts['operation']): string {
  if (operation.type === 'credential') return 'every delivery of this credential to this caller';
  if (operation.tool !== undefined) return 'every call of this tool by this caller, with any arguments';
  return operation.mcp === undefined
    ? 'every request by this caller with this method and path, with any query, header fields and body'
    : 'every message of this MCP method by this caller, with any parameters';
}

function buttonsOf({ id, status, maxStandingSeconds }: ApprovalView): readonly SafeHtml[] {
  const button = (label: string, decision: Decision, quiet = false): SafeHtml =>
    passkeyButton(label, { path: id, ceremony: 'get', fields: decision, opens: id, quiet });
  if (status === 'approved') return [button('Revoke', { decision: 'revoke', scope: 'once' })];
  return [
    button('Approve once', { decision: 'approve', scope: 'once' }),
    button('Deny', { decision: 'deny', scope: 'once' }, true),
    ...(maxStandingSeconds === undefined
      ? []
      : [
          button(
            allowLabel(maxStandingSeconds),
            { decision: 'approve', scope: `standing:${maxStandingSeconds}` },
            true,
          ),
        ]),
  ];
}

const NO_LONGER_OPEN = [
  'No longer open',
  'It expired or was revoked, or its credential was replaced. Nothing can be decided here.',
] as const;
const CLOSED = {
  used: [
    'Approved and used',
    'The request was approved, and the approval was used. It cannot be used again.',
  ],
  denied: [
    'Denied',
    'The request was denied. For ten minutes the same request is denied without asking you again.',
  ],
  expired: NO_LONGER_OPEN,
  approved: NO_LONGER_OPEN,
  pending: NO_LONGER_OPEN,
} as const;

function closedPage(view: ApprovalView): ApprovalPage {
  const [title, text] = CLOSED[view.status];
  return {
    name: 'approval-closed',
    title,
    body: safeHtml`<p>${text}</p>${view.signed && factsOf(view, view.signed.facts)}`,
    next: safeHtml`<p class="dim">Request <code>${view.id}</code>. You can close this page.</p>`,
  };
}

export const approvalUnknownPage: ApprovalPage = {
  name: 'approval-unknown',
  title: 'No such request',
  body: safeHtml`<p>The link is incomplete, or the request is more than a day old.</p>`,
  next: safeHtml`<p>Open the newest link that you were sent.</p>`,
};

/** Registers a passkey. */
export function enrolPage(link: {
  readonly code: string;
  readonly name: string | undefined;
  readonly problem: string | undefined;
}): ApprovalPage {
  const { code, name, problem } = link;
  return {
    name: 'enrol',
    title: 'Become an approver',
    script: PASSKEY_SCRIPT,
    body: safeHtml`<p>Some credentials are stored so that a person approves each use. An approver does so at this webhook, with a
passkey. It stays on your device or in your password manager; the webhook keeps its public key.</p>
${problem === undefined ? undefined : safeHtml`<p class="alert">Passkeys do not work at this address: ${problem}.</p>`}
<form>
<label for="name">Your name, for the log</label>
<input id="name" name="name" required maxlength="100" autocomplete="name" value="${name ?? ''}">
<p class="actions">${passkeyButton('Register a passkey', { path: 'new', ceremony: 'create', fields: { code }, opens: 'new?done' })}</p>
</form>
${OUTCOME}`,
    next: safeHtml`<p class="dim">This link works once, for 15 minutes.</p>`,
  };
}

export const enrolledPage: ApprovalPage = {
  name: 'enrolled',
  title: 'You are an approver',
  body: safeHtml`<p>The passkey is registered and recorded in the webhook’s log.</p>`,
  next: safeHtml`<p>You get a link when a request needs your decision. You can close this page.</p>`,
};

export const enrolInvalidPage: ApprovalPage = {
  name: 'enrol-invalid',
  title: 'This link no longer works',
  body: safeHtml`<p>A link works once, for 15 minutes.</p>`,
  next: safeHtml`<p>Run <code>approver-link</code> on the webhook’s machine for a new one.</p>`,
};
