import { sha256, utf8 } from './bytes.ts';

/** What a decision is about (PROTOCOL.md section 5.10, "What is signed"). */
export interface ApprovalFacts {
  readonly id: string;
  /** The webhook's id, as in the `aud` of tickets. */
  readonly webhook: string;
  readonly serviceName: string;
  readonly sub: string;
  readonly operation: ApprovalOperation;
  /** As PROTOCOL.md section 2 writes times, like the next. */
  readonly askedAt: string;
  readonly expiresAt: string;
}

export type ApprovalOperation =
  | { readonly type: 'credential' }
  | {
      readonly type: 'proxy';
      readonly proxyId: string;
      readonly method: string;
      /** What the upstream is asked for, with the parameters of templates, their markers not replaced. */
      readonly url: string;
      /** Of JSON-RPC, in a message of MCP that is at hand. */
      readonly mcp?: string | undefined;
      /** That it calls. */
      readonly tool?: string | undefined;
      readonly digest: string;
    };

export type ApprovalDecision = 'approve' | 'deny' | 'revoke';
/** One use, or every such use for so many seconds. */
export type ApprovalScope = 'once' | `standing:${number}`;

/** The canonical text of an approval: compact JSON, its members in the order of {@link ApprovalFacts}. */
export function approvalText({
  id,
  webhook,
  serviceName,
  sub,
  operation,
  askedAt,
  expiresAt,
}: ApprovalFacts): string {
  const { type } = operation;
  const ordered =
    type === 'credential'
      ? { type }
      : {
          type,
          proxyId: operation.proxyId,
          method: operation.method,
          url: operation.url,
          mcp: operation.mcp,
          tool: operation.tool,
          digest: operation.digest,
        };
  return JSON.stringify({ v: 1, id, webhook, serviceName, sub, operation: ordered, askedAt, expiresAt });
}

/** The 32 bytes that an authenticator signs for a decision (PROTOCOL.md section 5.10). */
export const approvalChallenge = (
  text: string,
  decision: ApprovalDecision,
  scope: ApprovalScope,
): Uint8Array => sha256(utf8(`${text}\n${decision}\n${scope}`));
