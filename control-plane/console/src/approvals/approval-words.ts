import { visibleLine } from '../parts/visible-text.ts';
import type { Approval } from './queries.ts';

/** More of a name than this takes more than its two lines on a phone. */
const MAX_NAME_CHARACTERS = 60;

/** The name of who asks, as it has it now; or its id. */
export const callerName = ({ callerName: name, agentId, proxyId }: Approval): string =>
  visibleLine(name ?? agentId ?? proxyId ?? '');

/** What is asked for, in words and, for a request, as it would be sent. */
export function operationOf({ kind, request }: Approval): {
  readonly words: string;
  readonly request: string | undefined;
} {
  if (kind === 'access') return { words: 'A grant, which lets it have the credential', request: undefined };
  if (request === undefined) return { words: 'The credential itself, once for each use', request: undefined };
  const { method, url, tool } = request;
  const line = visibleLine(`${method} ${url}`);
  return tool === undefined
    ? { words: 'One request with the credential', request: line }
    : { words: `A call of the tool ${shortened(visibleLine(tool))}`, request: line };
}

/** A name of bounded length: the whole of it stands where it moves nothing. */
export function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= MAX_NAME_CHARACTERS
    ? text
    : `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join('')}…`;
}

/** Why it needs a person. */
export const KIND_WORDS = {
  policy: 'A policy requires an approval',
  passkey: 'The credential requires a passkey',
  access: 'The agent has no grant',
} as const satisfies Readonly<Record<Approval['kind'], string>>;

export const STATUS_WORDS = {
  pending: 'Pending',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  used: 'Approved and used',
} as const satisfies Readonly<Record<Approval['status'], string>>;

/** What an approval does, as a sentence for who decides. @param approval of a policy */
export const effectOf = ({ uses }: Approval): string =>
  `Approving lets exactly this request pass ${uses === 1 ? 'once' : `${uses} times`}, when the agent repeats it.`;

/** The time that is left, as `12 min 05 s`; undefined where none is. @param at RFC 3339 */
export function timeLeft(at: string, nowMs: number): string | undefined {
  const seconds = Math.ceil((Date.parse(at) - nowMs) / 1_000);
  if (!(seconds > 0)) return undefined;
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** The approvals, those that end first on top. */
export const byEnd = (approvals: readonly Approval[]): readonly Approval[] =>
  approvals.toSorted((one, other) => one.expiresAt.localeCompare(other.expiresAt));
