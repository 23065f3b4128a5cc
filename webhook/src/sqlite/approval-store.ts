import { AeadFailed } from '@svault/server-kit/aead';
import { canonicalJson } from '@svault/shared/audit-chain';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { toBase64url } from '@svault/shared';
import type { ApprovalStore, Approver, AskedCounts, StoredApproval } from '../approvals/approval-store.ts';
import type { SecretWrapper } from '../binding/binding-store.ts';
import type { Rewrappable } from '../vault/master-key-rotation.ts';

type ApproverRow = Approver & { readonly row: number; readonly mac: Uint8Array };
type ApprovalRow = Omit<StoredApproval, 'match'> & {
  readonly row: number;
  readonly once: string;
  readonly standing: string | null;
  readonly mac: Uint8Array | null;
};

const NOTHING = new Uint8Array();

const APPROVERS = `SELECT row, id, name, credential_id AS credentialId, public_key AS publicKey, counter,
  added_at AS addedAtMs, mac FROM approvers`;
const APPROVALS = `SELECT row, id, service_name AS serviceName, sub, match AS once, standing_match AS standing, text, shown,
  asked_at AS askedAtMs, expires_at AS expiresAtMs, status, standing_seconds AS standingSeconds,
  decided_at AS decidedAtMs, approver_id AS approverId, mac FROM approvals`;
const IS_OPEN = `status IN ('pending', 'approved') AND expires_at > ?`;

/** The counter is left out: it only rises, and an older one lets nobody in. */
const approverPurpose = ({ id, name, credentialId, publicKey, addedAtMs }: Approver): string =>
  `approver:${canonicalJson({ id, name, credentialId, publicKey: toBase64url(publicKey), addedAtMs })}`;

/** Of one that waits or is approved: all of it, so that nobody decides on a text that something else wrote. */
type WholeApproval = Omit<ApprovalRow, 'row' | 'mac'> & Partial<ApprovalRow>;
const approvalPurpose = ({ row: _row, mac: _mac, ...approval }: WholeApproval): string =>
  `approval:${canonicalJson(approval)}`;

/** Approvers, links and approvals in the tables of migration 111. */
export function createApprovalStore(
  db: SqliteDatabase,
  secrets: Pick<SecretWrapper, 'wrap' | 'unwrap'>,
): ApprovalStore {
  const isAuthentic = (mac: Uint8Array, purpose: string): boolean => {
    try {
      return secrets.unwrap(mac, purpose).length === 0;
    } catch (error) {
      if (error instanceof AeadFailed) return false;
      throw error;
    }
  };

  const allApprovers = db.prepare<[], ApproverRow>(`${APPROVERS} ORDER BY row`);
  const insertApprover = db.prepare<Approver & { readonly mac: Uint8Array }>(
    `INSERT INTO approvers (id, name, credential_id, public_key, counter, added_at, mac)
     VALUES (@id, @name, @credentialId, @publicKey, @counter, @addedAtMs, @mac)`,
  );
  const setCounter = db.prepare<[number, string]>(
    'UPDATE approvers SET counter = max(counter, ?) WHERE id = ?',
  );
  const deleteApprover = db.prepare<[string]>('DELETE FROM approvers WHERE id = ?');

  const insertLink = db.prepare<[Uint8Array, string | null, number]>(
    'INSERT INTO approver_links (code_hash, name, expires_at) VALUES (?, ?, ?)',
  );
  const readLink = db.prepare<[Uint8Array, number], { readonly name: string | null }>(
    'SELECT name FROM approver_links WHERE code_hash = ? AND expires_at > ?',
  );
  const deleteLink = db.prepare<[Uint8Array]>('DELETE FROM approver_links WHERE code_hash = ?');
  const deleteLinks = db.prepare<[number]>('DELETE FROM approver_links WHERE expires_at <= ?');

  const byId = db.prepare<[string], ApprovalRow>(`${APPROVALS} WHERE id = ?`);
  const openOnes = db.prepare<[number], ApprovalRow>(`${APPROVALS} WHERE ${IS_OPEN} ORDER BY row DESC`);
  const undecidedOrDenied = db.prepare<[string, number], ApprovalRow>(
    `${APPROVALS} WHERE match = (SELECT ?) AND status IN ('pending', 'denied') AND expires_at > ? ORDER BY row DESC`,
  );
  const approvedOnce = db.prepare<[string, number], ApprovalRow>(
    `${APPROVALS} WHERE match = (SELECT ?) AND status = 'approved' AND standing_seconds IS NULL AND expires_at > ?
     ORDER BY expires_at`,
  );
  const approvedStanding = db.prepare<[string, number], ApprovalRow>(
    `${APPROVALS} WHERE standing_match = (SELECT ?) AND standing_seconds IS NOT NULL AND status = 'approved'
     AND expires_at > ? ORDER BY expires_at DESC`,
  );
  const countPending = db
    .prepare<[{ nowMs: number; serviceName: string | null; sub: string | null }], number>(
      `SELECT count(*) FROM approvals WHERE status = 'pending' AND expires_at > @nowMs
       AND (@serviceName IS NULL OR service_name = @serviceName) AND (@sub IS NULL OR sub = @sub)`,
    )
    .pluck();
  const countAsked = db.prepare<[string, number], AskedCounts>(
    `SELECT count(*) AS asked, count(*) FILTER (WHERE status = 'denied') AS denied,
       count(*) FILTER (WHERE approver_id IS NOT NULL AND status <> 'denied') AS approved
     FROM approvals WHERE sub = ? AND asked_at > ?`,
  );
  const insert = db.prepare<object>(
    `INSERT INTO approvals (id, service_name, sub, match, standing_match, text, shown, asked_at, expires_at, status, mac)
     VALUES (@id, @serviceName, @sub, @once, @standing, @text, @shown, @askedAtMs, @expiresAtMs, @status, @mac)`,
  );
  const decide = db.prepare<object>(
    `UPDATE approvals SET status = @status, standing_seconds = @standingSeconds, approver_id = @approverId,
       decided_at = @decidedAtMs, expires_at = @expiresAtMs, mac = @mac
     WHERE id = @id AND status = 'pending'`,
  );
  const useUp = db.prepare<[string]>(
    `UPDATE approvals SET status = 'used' WHERE id = ? AND status = 'approved' AND standing_seconds IS NULL`,
  );
  const end = db
    .prepare<[{ id: string | null; serviceName: string | null; approverId: string | null }], string>(
      `UPDATE approvals SET status = 'ended' WHERE status IN ('pending', 'approved')
       AND (@id IS NULL OR id = @id) AND (@serviceName IS NULL OR service_name = @serviceName)
       AND (@approverId IS NULL OR approver_id = @approverId) RETURNING id`,
    )
    .pluck();
  const erase = db.prepare<[number]>(
    `UPDATE approvals SET text = NULL, shown = NULL,
       status = CASE WHEN status IN ('pending', 'approved') THEN 'ended' ELSE status END
     WHERE expires_at <= ? AND text IS NOT NULL`,
  );
  const forget = db.prepare<[number]>('DELETE FROM approvals WHERE expires_at < ?');

  const isWhole = (row: ApprovalRow): boolean =>
    row.mac !== null && isAuthentic(row.mac, approvalPurpose(row));
  const macOf = (row: WholeApproval): Uint8Array => secrets.wrap(NOTHING, approvalPurpose(row));

  const store: ApprovalStore = {
    approvers: () =>
      allApprovers
        .all()
        .filter((approver) => isAuthentic(approver.mac, approverPurpose(approver)))
        .map(({ row: _row, mac: _mac, ...approver }) => approver),
    addApprover: (approver) =>
      void insertApprover.run({ ...approver, mac: secrets.wrap(NOTHING, approverPurpose(approver)) }),
    countSignature: (approverId, counter) => void setCounter.run(counter, approverId),
    removeApprover: (approverId) => void deleteApprover.run(approverId),

    addLink: ({ codeHash, name, expiresAtMs }) => void insertLink.run(codeHash, name ?? null, expiresAtMs),
    link: (codeHash, nowMs) => {
      const found = readLink.get(codeHash, nowMs);
      return found && { name: found.name ?? undefined };
    },
    removeLink: (codeHash) => void deleteLink.run(codeHash),

    approval: (id) => {
      const row = byId.get(id);
      const isOpen = row?.status === 'pending' || row?.status === 'approved';
      return toApproval(row !== undefined && isOpen && !isWhole(row) ? { ...row, status: 'ended' } : row);
    },
    open: (nowMs) =>
      openOnes
        .all(nowMs)
        .filter(isWhole)
        .map((row) => toApproval(row)),
    sameAs: (match, nowMs) =>
      store.approvedFor(match, nowMs) ??
      toApproval(
        undecidedOrDenied.all(match.once, nowMs).find((row) => row.status === 'denied' || isWhole(row)),
      ),
    approvedFor: ({ once, standing }, nowMs) =>
      toApproval(
        (standing === undefined ? undefined : approvedStanding.all(standing, nowMs).find(isWhole)) ??
          approvedOnce.all(once, nowMs).find(isWhole),
      ),
    countPending: ({ serviceName = null, sub = null }, nowMs) =>
      countPending.get({ nowMs, serviceName, sub }) ?? 0,
    countAsked: (sub, sinceMs) => countAsked.get(sub, sinceMs) ?? { asked: 0, approved: 0, denied: 0 },
    add: ({ match: { once, standing = null }, ...approval }) => {
      const undecided = { standingSeconds: null, decidedAtMs: null, approverId: null };
      const row = { ...approval, ...undecided, once, standing, status: 'pending' } as const;
      insert.run({ ...row, mac: macOf(row) });
    },
    decide: ({ standingSeconds = null, ...decision }) => {
      const pending = byId.get(decision.id);
      if (pending === undefined) return;
      const decided = { ...decision, standingSeconds };
      const mac = decision.status === 'approved' ? macOf({ ...pending, ...decided }) : null;
      decide.run({ ...decided, mac });
    },
    useUp: (id) => void useUp.run(id),
    end: ({ id = null, serviceName = null, approverId = null }) => end.all({ id, serviceName, approverId }),
    tidy: (nowMs, forgetBeforeMs) => {
      erase.run(nowMs);
      forget.run(forgetBeforeMs);
      deleteLinks.run(nowMs);
    },
    endAll: () => {
      store.end({});
      deleteLinks.run(Number.MAX_SAFE_INTEGER);
    },
  };
  return store;
}

function toApproval(row: ApprovalRow): StoredApproval;
function toApproval(row: ApprovalRow | undefined): StoredApproval | undefined;
function toApproval(row: ApprovalRow | undefined): StoredApproval | undefined {
  if (row === undefined) return undefined;
  const { row: _row, mac: _mac, once, standing, ...approval } = row;
  return { ...approval, match: { once, ...(standing !== null && { standing }) } };
}

/** The MACs of approvers, and of what waits for them or is approved, for a rotation of the root key. */
export function createApprovalRewrappables(db: SqliteDatabase): readonly Rewrappable[] {
  const approversAfter = db.prepare<[number, number], ApproverRow>(
    `${APPROVERS} WHERE row > ? ORDER BY row LIMIT ?`,
  );
  const putApprover = db.prepare<[Uint8Array, number]>('UPDATE approvers SET mac = ? WHERE row = ?');
  const approvalsAfter = db.prepare<[number, number], ApprovalRow & { readonly mac: Uint8Array }>(
    `${APPROVALS} WHERE row > ? AND status IN ('pending', 'approved') ORDER BY row LIMIT ?`,
  );
  const putApproval = db.prepare<[Uint8Array, number]>('UPDATE approvals SET mac = ? WHERE row = ?');
  return [
    rewrappable(approversAfter, approverPurpose, putApprover),
    rewrappable(approvalsAfter, approvalPurpose, putApproval),
  ];
}

function rewrappable<Row extends { readonly row: number; readonly mac: Uint8Array }>(
  rowsAfter: { all(after: number, limit: number): Row[] },
  purposeOf: (row: Row) => string,
  put: { run(mac: Uint8Array, row: number): unknown },
): Rewrappable {
  return {
    rewrap: (rewrap, after, limit) => {
      const rows = rowsAfter.all(after, limit);
      for (const row of rows) {
        const moved = moveOrLeave(() => rewrap(row.mac, purposeOf(row)));
        if (moved !== undefined) put.run(moved, row.row);
      }
      return rows.at(-1)?.row;
    },
  };
}

/** A row that something else changed stays as void as it is, and stops no rotation. */
function moveOrLeave(move: () => Uint8Array | undefined): Uint8Array | undefined {
  try {
    return move();
  } catch (error) {
    if (error instanceof AeadFailed) return undefined;
    throw error;
  }
}
