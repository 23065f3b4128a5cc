import { AppError, type StoreTicket } from '@svault/shared';
import { type StoreAnswer, type StoreBody, warningsOf } from '@svault/shared/schemas';
import type { AuditLog } from '../audit/audit-log.ts';
import { subjectOf } from '../audit/subject.ts';
import { draftFrom } from './draft.ts';
import type { RecordDraft } from './record.ts';
import type { Vault } from './vault.ts';

/**
 * Stores what a body asks for under the name that the ticket carries. The ticket is used up by now, so what is refused
 * from here on stands in the log.
 *
 * @param readBody parses the body; its refusal is logged too
 * @throws AppError INVALID_REQUEST, VERSION_CONFLICT
 */
export type StoreByTicket = (ticket: StoreTicket, readBody: () => StoreBody) => Promise<StoreAnswer>;

/** See {@link StoreByTicket}. */
export function createStoreByTicket(deps: {
  readonly vault: Pick<Vault, 'put'>;
  readonly audit: Pick<AuditLog, 'append'>;
}): StoreByTicket {
  const readOrLog = async (
    ticket: StoreTicket,
    readBody: () => StoreBody,
  ): Promise<{ readonly draft: RecordDraft; readonly warnings: readonly string[] }> => {
    try {
      const body = readBody();
      return { draft: draftFrom(body), warnings: warningsOf(body) };
    } catch (error) {
      if (error instanceof AppError)
        await deps.audit.append({
          eventType: 'CREDENTIAL_STORED',
          outcome: 'denied',
          serviceName: ticket.svc,
          ...subjectOf(ticket.sub),
          detail: { code: error.code },
        });
      throw error;
    }
  };
  return async (ticket, readBody) => {
    const { svc: serviceName, sub, ifv: ifVersion } = ticket;
    const { draft, warnings } = await readOrLog(ticket, readBody);
    const { version } = await deps.vault.put(serviceName, draft, { ifVersion, subject: subjectOf(sub) });
    return { serviceName, version, ...(warnings.length > 0 && { warnings: [...warnings] }) };
  };
}
