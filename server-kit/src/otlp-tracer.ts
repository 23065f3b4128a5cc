import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { type Egress, EgressFailed, EgressRefused } from '@svault/shared/egress';
import type { Logger } from './logger.ts';
import { createOtlpExporter } from './otlp-exporter.ts';
import { requestIdOf } from './request-id.ts';
import { isDrawn, isSampled, parseTraceContext, traceContextHeaders } from './trace-context.ts';
import { type RequestTrace, type TraceContext, type Tracer, attachTrace, currentTrace } from './tracing.ts';
import type { TracingConfig } from './tracing-settings.ts';

/** Spans that wait for export; those beyond are dropped. A batch is written as JSON in one go, so it is small. */
const QUEUE = { maxQueueSize: 2_048, maxExportBatchSize: 256, scheduledDelayMillis: 5_000 };
/** The program stops within 10 s, whatever the collector does. */
const FLUSH_MS = 2_000;

type StartSpan = (name: string, kind: SpanKind, startTime: number, parent?: SpanContext) => Span;

/**
 * Traces by OpenTelemetry. Registers nothing globally, so that no package which looks for a tracer finds one and adds
 * attributes of its own.
 */
export function createOtlpTracer(
  config: TracingConfig,
  { program, logger }: { readonly program: string; readonly logger: Logger },
): Tracer {
  const exporter = createOtlpExporter(config, logger);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': program, 'service.instance.id': randomUUID() }),
    // RequestTrace decides before there is a span.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...QUEUE })],
  });
  const tracer = provider.getTracer('svault');
  const start: StartSpan = (name, kind, startTime, parent) =>
    tracer.startSpan(
      name,
      { kind, startTime },
      parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
    );

  return {
    serve: (listener) => (req, res) => {
      const traced = new TracedRequest(req, { start, ratio: config.ratio });
      attachTrace(req, traced);
      res.once('close', () => traced.finish(res));
      currentTrace.run(traced, listener, req, res);
    },
    egress: tracedEgress,
    close: async () => {
      const flushed = new AbortController();
      const limit = delay(FLUSH_MS, undefined, { signal: flushed.signal }).catch(() => undefined);
      await Promise.race([provider.shutdown().catch(() => undefined), limit]);
      flushed.abort();
      await exporter.close();
    },
  };
}

interface Decision {
  readonly span: Span | undefined;
}
const NOT_TRACED: Decision = { span: undefined };

/** The server span of a request begins when it is known whether it is sampled: with its first call, or its end. */
class TracedRequest implements RequestTrace {
  route: string | undefined;
  code: string | undefined;
  followsCaller = false;
  readonly #req: IncomingMessage;
  readonly #start: StartSpan;
  readonly #ratio: number;
  readonly #startMs = nowMs();
  #parent: SpanContext | undefined;
  #decision: Decision | undefined;
  #next: Span | undefined;
  #isUnauthenticated = false;

  constructor(req: IncomingMessage, options: { readonly start: StartSpan; readonly ratio: number }) {
    this.#req = req;
    this.#start = options.start;
    this.#ratio = options.ratio;
    const { traceparent, tracestate } = req.headers;
    if (traceparent !== undefined) this.#parent = parseTraceContext({ traceparent, tracestate });
  }

  adopt(read: () => TraceContext | undefined): void {
    if (this.#parent !== undefined || this.#decision !== undefined || !this.#isDrawn()) return;
    const context = read();
    this.#parent = context && parseTraceContext(context);
  }

  beginCall(route: string | undefined): Readonly<Record<string, string>> {
    const { span } = this.#decide();
    if (span === undefined) return {};
    this.#next = this.#begin(route, span);
    return traceContextHeaders(this.#next.spanContext());
  }

  /** @returns the span that {@link beginCall} began, or one whose context is not passed on; undefined where it is not sampled */
  takeCall(): Span | undefined {
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) return next;
    const { span } = this.#decide();
    return span && this.#begin(undefined, span);
  }

  finish(res: ServerResponse): void {
    this.#isUnauthenticated = res.statusCode === 401;
    const { span } = this.#decide();
    if (span === undefined) return;
    const { method = '' } = this.#req;
    const route = this.route ?? expressRouteOf(this.#req);
    span.updateName(route === undefined ? method : `${method} ${route}`);
    span.setAttribute('http.request.method', method);
    span.setAttribute('svault.request_id', requestIdOf(this.#req));
    if (route !== undefined) span.setAttribute('http.route', route);
    if (this.code !== undefined) span.setAttribute('svault.code', this.code);
    if (res.headersSent) noteStatus(span, res.statusCode, 500);
    // No error: a client ends an event stream so.
    if (!res.writableFinished) span.setAttribute('error.type', 'aborted');
    span.end(nowMs());
    // A timer that the request started can go on for ever, and is no part of it.
    this.#decision = NOT_TRACED;
  }

  #begin(route: string | undefined, parent: Span): Span {
    const span = this.#start('call', SpanKind.CLIENT, nowMs(), parent.spanContext());
    if (route !== undefined) span.setAttribute('url.template', route).updateName(route);
    return span;
  }

  #decide(): Decision {
    this.#decision ??= {
      span: this.#isSampled()
        ? this.#start('request', SpanKind.SERVER, this.#startMs, this.#parent)
        : undefined,
    };
    return this.#decision;
  }

  #isSampled(): boolean {
    if (this.#parent === undefined) return this.#isDrawn();
    return isSampled(this.#parent) && ((this.followsCaller && this.#ratio > 0) || this.#isDrawn());
  }

  /**
   * By its id, which no caller chooses and which both programs have of one access: they decide alike. A replayed ticket has the
   * id of the access before, and whoever replays it must not have each replay traced.
   */
  #isDrawn(): boolean {
    return isDrawn(this.#isUnauthenticated ? randomUUID() : requestIdOf(this.#req), this.#ratio);
  }
}

const tracedEgress = (egress: Egress): Egress => ({
  request: (call) =>
    observed(call, async (span) => {
      const answer = await egress.request(call);
      if (span !== undefined) noteStatus(span, answer.status, 400);
      return answer;
    }),
  stream: (call, take) =>
    observed(call, (span) =>
      egress.stream(call, (head) => {
        if (span !== undefined) noteStatus(span, head.status, 400);
        return take(head);
      }),
    ),
  close: () => egress.close(),
});

/** The address of a call is its host alone: a path or query may be secret. */
async function observed<T>(
  { method, url }: { readonly method: string; readonly url: string },
  make: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const current = currentTrace.getStore();
  const span = current instanceof TracedRequest ? current.takeCall() : undefined;
  if (span === undefined) return make(undefined);
  span.setAttribute('http.request.method', method);
  if (URL.canParse(url)) span.setAttribute('server.address', new URL(url).hostname);
  try {
    return await make(span);
  } catch (error) {
    fail(span, errorTypeOf(error));
    throw error;
  } finally {
    span.end(nowMs());
  }
}

function noteStatus(span: Span, status: number, failsFrom: number): void {
  span.setAttribute('http.response.status_code', status);
  if (status >= failsFrom) fail(span, String(status));
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

function errorTypeOf(error: unknown): string {
  if (error instanceof EgressFailed) return error.kind;
  return error instanceof EgressRefused ? error.reason : '_OTHER';
}

/** Express leaves the matched route on the request: its path as declared, `/api/agents/:id`. */
function expressRouteOf(req: IncomingMessage & { readonly route?: { readonly path?: unknown } }) {
  const path = req.route?.path;
  return typeof path === 'string' ? path : undefined;
}

/** Milliseconds since 1970, with fractions. */
const nowMs = (): number => performance.timeOrigin + performance.now();
