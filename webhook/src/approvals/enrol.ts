import type { GroupCommit } from '@svault/server-kit/group-commit';
import { fromBase64url, randomToken, sha256, toBase64url, utf8 } from '@svault/shared';
import * as z from 'zod';
import type { AuditLog } from '../audit/audit-log.ts';
import { ApiError } from '../errors.ts';
import type { ApprovalStore, Approver } from './approval-store.ts';
import type { Assertion, Passkeys, Registration } from './passkeys.ts';

/** An entry of the log has it, and a line of a list. */
export const approverNameSchema = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[^\p{C}]+$/u, 'has invisible characters');

const LINK_LIFETIME_MS = 15 * 60_000;
/** 256 bits. */
const CODE_BYTES = 32;
const MAX_APPROVERS = 50;

/** SHA-256 of a code, all that is stored of it. */
const hashOf = (code: string): Uint8Array => sha256(utf8(code));
/** The code is random and works once, so what is made of it is as good as random. */
const challengeOf = (code: string): Uint8Array => sha256(utf8(`approver\n${code}`));

const ID_BYTES = 16;
/** The approver's id is in the user handle, by which a passkey is found that does not say its own id. */
const approverIdOf = (userHandle: Uint8Array): string =>
  `apv_${toBase64url(userHandle.subarray(0, ID_BYTES))}`;

/** Whether an assertion says that it is by this approver's passkey, which its signature then has to show. */
export function isApproverOf(
  { id, credentialId }: Approver,
  { id: saidId, response: { userHandle } }: Assertion,
): boolean {
  if (saidId !== undefined) return saidId === credentialId;
  const handle = userHandle === undefined ? undefined : fromBase64url(userHandle);
  return handle !== undefined && approverIdOf(handle) === id;
}

/** How approvers come and go: a link that is made on the webhook's machine, and the passkey that is registered by it. */
export function createApprovers(deps: {
  readonly approvals: Pick<
    ApprovalStore,
    'approvers' | 'addApprover' | 'removeApprover' | 'addLink' | 'link' | 'removeLink' | 'end'
  >;
  readonly passkeys: Passkeys;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  /** The later of wall clock and time floor, milliseconds since 1970. */
  readonly latestMs: () => number;
  readonly webhookUrl: string;
}) {
  const { approvals, passkeys, audit, commit, latestMs, webhookUrl } = deps;

  /** @throws ApiError NOT_FOUND */
  const mustBeLink = (code: string): { readonly name: string | undefined } => {
    const link = approvals.link(hashOf(code), latestMs());
    if (link === undefined)
      throw new ApiError(
        'NOT_FOUND',
        'this link is too old, or was used already; approver-link makes another',
      );
    return link;
  };

  return {
    list: approvals.approvers,
    /**
     * @param name of the approver; the page asks for one where it is absent
     * @returns shown once; it works once, until then (milliseconds since 1970)
     */
    makeLink: async (name: string | undefined) => {
      const code = randomToken(CODE_BYTES);
      const expiresAtMs = latestMs() + LINK_LIFETIME_MS;
      await commit.run(() => approvals.addLink({ codeHash: hashOf(code), name, expiresAtMs }));
      return { link: `${webhookUrl}/approvers/new?code=${code}`, expiresAtMs };
    },
    mustBeLink,
    /** @throws ApiError NOT_FOUND */
    options: (code: string, name: string) => {
      mustBeLink(code);
      const known = approvals.approvers();
      return passkeys.creationOptions({ challenge: challengeOf(code), userId: hashOf(code), name, known });
    },
    /**
     * Registers a passkey, which uses the link up.
     *
     * @throws ApiError NOT_FOUND; INVALID_REQUEST for a passkey that does not verify, RATE_LIMITED at the bound
     */
    enrol: async (code: string, name: string, response: Registration): Promise<Approver> => {
      mustBeLink(code);
      const passkey = await verified(passkeys.verifyRegistration(response, challengeOf(code)));
      const approver = { ...passkey, id: approverIdOf(hashOf(code)), name, addedAtMs: latestMs() };
      const outcome = await commit.run(() => {
        if (approvals.link(hashOf(code), latestMs()) === undefined) return 'used';
        const known = approvals.approvers();
        if (known.length >= MAX_APPROVERS) return 'full';
        if (known.some(({ credentialId }) => credentialId === passkey.credentialId)) return 'known';
        approvals.removeLink(hashOf(code));
        approvals.addApprover(approver);
        const { id, credentialId, publicKey } = approver;
        const detail = { approver: id, name, credentialId, publicKey: toBase64url(publicKey) };
        audit.appendNow({ eventType: 'APPROVER_ADDED', outcome: 'success', detail });
        return 'added';
      });
      if (outcome === 'added') return approver;
      if (outcome === 'used') mustBeLink(code);
      if (outcome === 'known') throw new ApiError('INVALID_REQUEST', 'this passkey is an approver already');
      throw new ApiError('RATE_LIMITED', 'there are too many approvers', { details: { retryAfter: 60 } });
    },
    /** Voids what the approver approved and was not used. False where there is none of that id. */
    remove: (approverId: string): Promise<boolean> =>
      commit.run(() => {
        const approver = approvals.approvers().find(({ id }) => id === approverId);
        if (approver === undefined) return false;
        approvals.removeApprover(approverId);
        const ended = approvals.end({ approverId });
        const detail = { approver: approverId, name: approver.name, ended };
        audit.appendNow({ eventType: 'APPROVER_REMOVED', outcome: 'success', detail });
        return true;
      }),
  };
}

export type Approvers = ReturnType<typeof createApprovers>;

/** What the library says of bytes that came from outside. */
async function verified<T>(verification: Promise<T>): Promise<T> {
  try {
    return await verification;
  } catch (error) {
    throw new ApiError('INVALID_REQUEST', 'the passkey could not be registered', {
      cause: error,
      reason: error instanceof Error ? error.message : 'registration',
    });
  }
}
