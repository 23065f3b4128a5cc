import type { ExportedEvent } from './event-lines.ts';

type Json = Readonly<Record<string, unknown>>;

/** Number and text: https://opentelemetry.io/docs/specs/otel/logs/data-model/#severity-fields */
type Severity = readonly [number, string];
const ERROR: Severity = [17, 'ERROR'];
const WARN: Severity = [13, 'WARN'];
const SEVERITIES = new Map<string, Severity>([
  ['success', [9, 'INFO']],
  ['error', ERROR],
]);

/**
 * An event as a request to export one log record, in the JSON of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding):
 * names are in camel case, and integers of 64 bits are strings.
 * @param host the control plane
 * @param observedMs when the event was read from its log
 */
export function otlpRequest(event: ExportedEvent, host: string, observedMs: number): Json {
  const { eventType, outcome, timestamp } = event;
  const [severityNumber, severityText] =
    eventType === 'WEBHOOK_LOG_CONTRADICTION' ? ERROR : (SEVERITIES.get(outcome) ?? WARN);
  const record = {
    timeUnixNano: nanoseconds(Date.parse(timestamp)),
    observedTimeUnixNano: nanoseconds(observedMs),
    severityNumber,
    severityText,
    // Names of events are in lower case: https://opentelemetry.io/docs/specs/semconv/general/naming/
    eventName: `svault.audit.${eventType.toLowerCase().toWellFormed()}`,
    body: anyValue(event),
    attributes: keyValues(attributesOf(event, host)),
  };
  // As the control plane's spans name it.
  const resource = { attributes: keyValues({ 'service.name': 'svault-control-plane' }) };
  return {
    resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'svault.audit' }, logRecords: [record] }] }],
  };
}

const nanoseconds = (ms: number): string => `${ms}000000`;

/** What readers filter by. Names without `svault.` are those of the semantic conventions that are stable. */
const attributesOf = (event: ExportedEvent, host: string): Json => ({
  'server.address': host,
  'client.address': event.origin?.address,
  'user_agent.original': event.origin?.userAgent,
  'svault.vault_id': event.vaultId,
  'svault.seq': event.seq,
  'svault.event_id': event.id,
  'svault.event_type': event.eventType,
  'svault.outcome': event.outcome,
  'svault.code': event.detail?.['code'],
  'svault.agent_id': event.agentId,
  'svault.proxy_id': event.proxyId,
  'svault.user_id': event.userId,
  'svault.service_name': event.serviceName,
  'svault.request_id': event.origin?.requestId,
  'svault.channel': event.origin?.channel,
  'svault.hash': event.hash,
});

/** What has no value is left out. */
const keyValues = (members: Json): readonly Json[] =>
  Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key: key.toWellFormed(), value: anyValue(value) }));

/** A lone surrogate would have a reader drop the event: it cannot be encoded. */
function anyValue(value: unknown): Json {
  if (value === null) return {};
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  switch (typeof value) {
    case 'string':
      return { stringValue: value.toWellFormed() };
    case 'boolean':
      return { boolValue: value };
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
    default:
      return { kvlistValue: { values: keyValues(value as Json) } };
  }
}
