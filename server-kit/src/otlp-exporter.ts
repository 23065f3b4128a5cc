import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { createEgress } from '@svault/shared/egress';
import type { Logger } from './logger.ts';
import { type TracingConfig, hostOf } from './tracing-settings.ts';

/** For a batch. */
const EXPORT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Posts batches of spans to a collector (OTLP/HTTP, JSON) by the egress client, which follows no redirect with the headers
 * and reads no proxy from the environment. A batch that the collector does not take is dropped.
 */
export function createOtlpExporter(
  { endpoint, headers }: Omit<TracingConfig, 'ratio'>,
  logger: Pick<Logger, 'info' | 'warn'>,
): SpanExporter & { close(): Promise<void> } {
  const egress = createEgress({ allow: [hostOf(endpoint)] });
  let isFailing = false;

  const send = async (spans: ReadableSpan[]): Promise<void> => {
    const body = JsonTraceSerializer.serializeRequest(spans);
    if (body === undefined) return;
    const { status } = await egress.request({
      method: 'POST',
      url: `${endpoint}/v1/traces`,
      headers: { ...headers.reveal(), 'content-type': 'application/json' },
      body,
      timeoutMs: EXPORT_MS,
      maxBytes: MAX_ANSWER_BYTES,
    });
    if (status < 200 || status > 299) throw new Error(`the collector answered ${status}`);
  };
  const sent = (): ExportResult => {
    if (isFailing) logger.info({ endpoint }, 'spans are exported again');
    isFailing = false;
    return { code: ExportResultCode.SUCCESS };
  };
  const failed = (error: Error): ExportResult => {
    if (!isFailing)
      logger.warn({ endpoint, why: error.message }, 'spans cannot be exported; they are dropped');
    isFailing = true;
    return { code: ExportResultCode.FAILED, error };
  };

  const report = async (spans: ReadableSpan[], done: (result: ExportResult) => void): Promise<void> =>
    done(await send(spans).then(sent, failed));

  return {
    export: (spans, done) => void report(spans, done),
    shutdown: async () => undefined,
    close: () => egress.close(),
  };
}
