import { usage } from '../../failure.ts';
import { jsonLine } from '../../output/json-text.ts';
import type { EXPORT_FORMATS } from './commands.ts';
import type { ExportedEvent } from './event-lines.ts';
import { ocsfRecord } from './ocsf.ts';
import { otlpRequest } from './otlp.ts';
import { syslogLine } from './syslog.ts';

export interface FormatOptions {
  readonly as: (typeof EXPORT_FORMATS)[number];
  readonly enterprise?: string;
}

/**
 * How an event is written, as one line.
 * @param host name of the control plane
 */
export function lineWriter(
  { as, enterprise }: FormatOptions,
  host: string,
): (event: ExportedEvent) => string {
  if (enterprise !== undefined && as !== 'syslog') throw usage('--enterprise is for --as syslog');
  if (enterprise !== undefined && !/^[1-9]\d{0,9}$/.test(enterprise))
    throw usage('--enterprise takes the private enterprise number that IANA gave your organisation');
  switch (as) {
    case 'jsonl':
      return jsonLine;
    case 'ocsf':
      return (event) => jsonLine(ocsfRecord(event, host));
    case 'otlp':
      return (event) => jsonLine(otlpRequest(event, host, Date.now()));
    case 'syslog':
      return (event) => syslogLine(event, host, enterprise);
  }
}
