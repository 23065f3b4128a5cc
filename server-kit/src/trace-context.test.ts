import { expect, test } from 'vitest';
import { isDrawn, isSampled, parseTraceContext, traceContextHeaders } from './trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;

const parse = (traceparent: unknown, tracestate?: unknown): ReturnType<typeof parseTraceContext> =>
  parseTraceContext({ traceparent, tracestate });

test('a well-formed context is passed on as it came', () => {
  const context = parse(PARENT, 'rojo=1, congo=t61rcWkgMzE');
  expect(context && traceContextHeaders(context)).toEqual({
    traceparent: PARENT,
    tracestate: 'rojo=1,congo=t61rcWkgMzE',
  });
});

test('only the sampled flag of a parent counts', () => {
  const flags = ['00', '01', '02', '03', 'ff'];
  expect(flags.map((flag) => isSampled(parse(PARENT.slice(0, -2) + flag) ?? expect.fail(flag)))).toEqual([
    ...[false, true, false, true, true],
  ]);
});

test.each([
  ['nothing', undefined],
  ['a number', 1],
  ['a list', [PARENT]],
  ['an empty text', ''],
  ['bad hex', PARENT.replace('4b', 'xy')],
  ['capitals', PARENT.toUpperCase()],
  ['a trace id of zeroes', PARENT.replace(TRACE, '0'.repeat(32))],
  ['a span id of zeroes', PARENT.replace(SPAN, '0'.repeat(16))],
  ['version ff', PARENT.replace('00-', 'ff-')],
  ['more behind version 00', `${PARENT}-00`],
  ['a short id', PARENT.replace(SPAN, SPAN.slice(1))],
  ['a line break', `${PARENT}\r\nx: y`],
  ['two parents', `${PARENT}, ${PARENT}`],
  ['a long later version', `01${PARENT.slice(2)}-${'x'.repeat(100)}`],
  ['a megabyte', '0'.repeat(1_000_000)],
])('%s is no parent', (_what, traceparent) => {
  expect(parse(traceparent)).toBeUndefined();
});

test.each([
  ['nothing', undefined],
  ['an object', { a: 'b' }],
  ['an empty text', ''],
  ['a member without a value', 'rojo=1,congo'],
  ['a name in capitals', 'ROJO=1'],
  ['a control character', 'rojo=1\r\nx: y'],
  ['a name twice', 'rojo=1,rojo=2'],
  ['33 members', Array.from({ length: 33 }, (_, at) => `m${at}=1`).join(',')],
  ['513 characters', `rojo=${'1'.repeat(508)}`],
])('a parent is taken without its state where that is %s', (_what, tracestate) => {
  const context = parse(PARENT, tracestate);
  expect(context && traceContextHeaders(context)).toEqual({ traceparent: PARENT });
});

test('of many requests the ratio is drawn, the same ones each time, with a second attempt beside its first', () => {
  const ids = Array.from({ length: 20_000 }, (_, at) => `req_${String(at).padStart(22, '0')}`);
  const drawn = ids.filter((id) => isDrawn(id, 0.1));
  expect(drawn.length).toBeGreaterThan(1_800);
  expect(drawn.length).toBeLessThan(2_200);
  expect(drawn.every((id) => isDrawn(`${id}-2`, 0.1) && isDrawn(id, 0.2))).toBe(true);
  expect([ids.some((id) => isDrawn(id, 0)), ids.every((id) => isDrawn(id, 1))]).toEqual([false, true]);
});
