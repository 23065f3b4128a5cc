import { hash } from 'node:crypto';
import { type SpanContext, TraceFlags } from '@opentelemetry/api';
import { TraceState, parseTraceParent } from '@opentelemetry/core';
import type { TraceContext } from './tracing.ts';

/** That of version 00 has 55 characters; later versions may add some. */
const MAX_PARENT_CHARACTERS = 128;
/** W3C Trace Context section 3.3.1.5: as much must be passed on, and more may be dropped. */
const MAX_STATE_CHARACTERS = 512;

/**
 * Reads what a caller says about its trace (W3C Trace Context).
 *
 * @returns undefined for a malformed or repeated `traceparent`; without a `tracestate` that is malformed or too long
 */
export function parseTraceContext({ traceparent, tracestate }: TraceContext): SpanContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_PARENT_CHARACTERS) return undefined;
  const context = parseTraceParent(traceparent);
  if (context === null) return undefined;
  const traceState = typeof tracestate === 'string' ? parseState(tracestate) : undefined;
  return { ...context, isRemote: true, ...(traceState !== undefined && { traceState }) };
}

/** The library drops single members; the recommendation drops all where one is malformed. */
function parseState(text: string): TraceState | undefined {
  if (text.length > MAX_STATE_CHARACTERS) return undefined;
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const state = new TraceState(members.join(','));
  return members.length > 0 && state.serialize() === members.join(',') ? state : undefined;
}

/** The headers that continue a trace in a call. */
export function traceContextHeaders({
  traceId,
  spanId,
  traceFlags,
  traceState,
}: SpanContext): Readonly<Record<string, string>> {
  const flags = isSampled({ traceFlags }) ? '01' : '00';
  const traceparent = `00-${traceId}-${spanId}-${flags}`;
  return traceState === undefined ? { traceparent } : { traceparent, tracestate: traceState.serialize() };
}

export const isSampled = ({ traceFlags }: Pick<SpanContext, 'traceFlags'>): boolean =>
  (traceFlags & TraceFlags.SAMPLED) !== 0;

/** A second attempt of one access has the id of the first and `-2`. */
const ID_CHARACTERS = 26;

/** Whether a request is among those that are traced: the same answer for the same id and ratio. */
export const isDrawn = (requestId: string, ratio: number): boolean =>
  ratio >= 1 || hash('sha256', requestId.slice(0, ID_CHARACTERS), 'buffer').readUInt32BE() < ratio * 2 ** 32;
