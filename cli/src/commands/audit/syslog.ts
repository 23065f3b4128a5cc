import type { ExportedEvent } from './event-lines.ts';

/** RFC 5424 section 6.2.1: log audit. */
const FACILITY = 13;
const WARNING = 4;
const SEVERITIES: Readonly<Record<string, number>> = {
  success: 6,
  denied: WARNING,
  rate_limited: WARNING,
  error: 3,
};

/** RFC 5424 section 6.2.4. */
const MAX_HOST = 255;

/** Members of structured data, by the name of the event's member. */
const PARAMETERS = ['outcome', 'agentId', 'proxyId', 'userId', 'serviceName', 'hash'] as const;
const ORIGIN_PARAMETERS = ['requestId', 'channel', 'address', 'authenticatedBy', 'userAgent'] as const;

/**
 * An event as a line of RFC 5424, whose message is the whole event as JSON of ASCII characters. The number of the event stands
 * in it, and not in `meta sequenceId`, which counts what the sender has sent since it was started (section 7.3.1).
 * @param enterprise the reader's private enterprise number: names of structured data that are not IANA's need one (section 7.2.2)
 */
export function syslogLine(event: ExportedEvent, host: string, enterprise?: string): string {
  const priority = FACILITY * 8 + (SEVERITIES[event.outcome] ?? WARNING);
  const data = enterprise === undefined ? '-' : `[svault@${enterprise}${parametersOf(event)}]`;
  const name = printable(event.eventType).slice(0, 32);
  return `<${priority}>1 ${event.timestamp} ${printable(host).slice(0, MAX_HOST)} svault - ${name} ${data} ${asciiJson(event)}\n`;
}

function parametersOf(event: ExportedEvent): string {
  const values: readonly (readonly [string, unknown])[] = [
    ['seq', event.seq],
    ...PARAMETERS.map((name) => [name, event[name]] as const),
    ...ORIGIN_PARAMETERS.map((name) => [name, event.origin?.[name]] as const),
    ['code', event.detail?.['code']],
  ];
  return values
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${parameterText(String(value))}"`)
    .join('');
}

/** RFC 5424 section 6.3.3. A line feed is allowed there, and would end the line of a reader. */
const parameterText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/["\\\]]/g, '\\$&');

/** What a header may hold: PRINTUSASCII, or the value for none. */
const printable = (text: string): string => text.replaceAll(/[^!-~]/g, '') || '-';

const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
