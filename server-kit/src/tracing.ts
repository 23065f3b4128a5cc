import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { HeaderPairs } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import type { Logger } from './logger.ts';
import type { TracingConfig } from './tracing-settings.ts';

/** Traces of a program (docs/operate/monitoring.md). */
export interface Tracer {
  /** Gives each request a server span, which ends with its response. */
  serve(listener: RequestListener): RequestListener;
  /** Gives each call that a request causes a client span. */
  egress(egress: Egress): Egress;
  /** Exports what is left, for two seconds at most. */
  close(): Promise<void>;
}

/** Traces nothing, at no cost. */
export const NO_TRACER: Tracer = {
  serve: (listener) => listener,
  egress: (egress) => egress,
  close: async () => undefined,
};

/** Loads OpenTelemetry only where a collector is set. */
export async function startTracing(
  config: TracingConfig | undefined,
  about: { readonly program: string; readonly logger: Logger },
): Promise<Tracer> {
  if (config === undefined) return NO_TRACER;
  const { createOtlpTracer } = await import('./otlp-tracer.ts');
  return createOtlpTracer(config, about);
}

/** W3C Trace Context, as a caller sent it: checked where it is used. */
export interface TraceContext {
  readonly traceparent: unknown;
  readonly tracestate: unknown;
}

/** What is traced of one request. */
export interface RequestTrace {
  /** The path as it is routed, with names in place of values. */
  route: string | undefined;
  /** Of a refusal. */
  code: string | undefined;
  /** The caller is the other program, whose decision to sample is followed. */
  followsCaller: boolean;
  /** Continues a trace that the message names, where no header did. @param read called where it matters */
  adopt(read: () => TraceContext | undefined): void;
  /** Begins the span of the call that comes next. @returns the headers that continue the trace, none where it is not sampled */
  beginCall(route: string | undefined): Readonly<Record<string, string>>;
}

/** The trace of the request that is being handled. */
export const currentTrace = new AsyncLocalStorage<RequestTrace>();

const TRACE = Symbol('trace');
type Traced = { [TRACE]?: RequestTrace };

/** Makes a request known by its trace to the functions below, which do nothing where it has none. */
export function attachTrace(req: IncomingMessage & Traced, trace: RequestTrace): void {
  req[TRACE] = trace;
}

/** Names the route of a request, for servers that do not route by Express. */
export function traceRoute(req: object & Traced, route: string): void {
  if (req[TRACE] !== undefined) req[TRACE].route = route;
}

/** Notes why a request is refused. */
export function traceCode(req: object & Traced, code: string): void {
  if (req[TRACE] !== undefined) req[TRACE].code = code;
}

/** For a request that the other program signed: it is sampled if that one says so. */
export function followSampling(req: object & Traced): void {
  if (req[TRACE] !== undefined) req[TRACE].followsCaller = true;
}

/** MCP's `params._meta` (SEP-414) counts where no header has a trace. @param read the message, called where it matters */
export function traceOfMessage(req: object & Traced, read: () => unknown): void {
  req[TRACE]?.adopt(() => contextIn(read()));
}

function contextIn(message: unknown): TraceContext | undefined {
  const { traceparent, tracestate } = memberOf(memberOf(message, 'params'), '_meta');
  return traceparent === undefined ? undefined : { traceparent, tracestate };
}

function memberOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  const member: unknown = isRecord(value) ? value[name] : undefined;
  return isRecord(member) ? member : {};
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const NONE: Readonly<Record<string, string>> = {};

/**
 * The headers that continue the trace of the request that is being handled in the call that comes next: `traceparent` and
 * `tracestate`, none where it is not traced.
 *
 * @param route of the other side
 */
export const traceHeaders = (route?: string): Readonly<Record<string, string>> =>
  currentTrace.getStore()?.beginCall(route) ?? NONE;

/** The fields of a request to forward, with {@link traceHeaders} in the place of the caller's. */
export function withTraceHeaders(fields: HeaderPairs, route?: string): HeaderPairs {
  const own = Object.entries(traceHeaders(route));
  if (own.length === 0) return fields;
  return [...fields.filter(([name]) => !TRACE_HEADERS.has(name.toLowerCase())), ...own];
}

const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);
