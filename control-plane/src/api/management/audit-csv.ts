import type { AuditEventView } from './audit-view.ts';

/** The columns, in their order. */
const COLUMNS: Readonly<Record<string, (event: AuditEventView) => string | number | undefined>> = {
  seq: ({ seq }) => seq,
  timestamp: ({ timestamp }) => timestamp,
  eventType: ({ eventType }) => eventType,
  outcome: ({ outcome }) => outcome,
  count: ({ count }) => count,
  agentId: ({ agentId }) => agentId,
  agentName: ({ agentName }) => agentName,
  proxyId: ({ proxyId }) => proxyId,
  proxyName: ({ proxyName }) => proxyName,
  userId: ({ userId }) => userId,
  userEmail: ({ userEmail }) => userEmail,
  adminKeyName: ({ adminKeyName }) => adminKeyName,
  serviceName: ({ serviceName }) => serviceName,
  detail: ({ detail }) => detail && JSON.stringify(detail),
  requestId: ({ origin }) => origin?.requestId,
  channel: ({ origin }) => origin?.channel,
  address: ({ origin }) => origin?.address,
  authenticatedBy: ({ origin }) => origin?.authenticatedBy,
  userAgent: ({ origin }) => origin?.userAgent,
  id: ({ id }) => id,
  hash: ({ hash }) => hash,
};

/** The names of the columns. */
export const CSV_HEAD = `${Object.keys(COLUMNS).join(',')}\r\n`;

/** An event as a line of CSV (RFC 4180). */
export const csvLine = (event: AuditEventView): string =>
  `${Object.values(COLUMNS)
    .map((valueOf) => cell(valueOf(event) ?? ''))
    .join(',')}\r\n`;

/** What a spreadsheet takes for the start of a formula, in each width; also behind a space. */
const FORMULA = /^[\s\0]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/;

/** Every text is quoted, and one that a spreadsheet would calculate is made text by an apostrophe. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}
