import { describe, expect, it } from 'vitest';
import { acceptsJson, prefersJson } from './accept.ts';

describe('prefersJson is true', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json, */*',
    '*/*, application/json',
    'application/*, application/json',
    'application/json, text/plain, */*',
    'application/json;q=0.9, */*;q=0.8',
    'text/html;q=0.5, application/json;q=0.501',
    'text/plain;a=",text/html;";q=0.5, application/json;Q=1',
    'application/json;q=0, application/json',
    ', application/json,',
  ])('for Accept: %s', (accept) => expect(prefersJson(accept)).toBe(true));
});

describe('prefersJson is false', () => {
  it.each([
    undefined,
    '',
    '*/*',
    '*/*;q=0.1',
    'application/*',
    'text/html, application/xhtml+xml, */*;q=0.8',
    'text/html, application/json',
    'application/json;q=0.9, */*',
    'application/json;q=0.5, text/html',
    'application/json;q=0',
    'application/json;q=0, */*',
    'application/jsonx',
    'application/problem+json',
    'text/plain;a="application/json"',
    'text/plain;a="\\", application/json',
    'json',
  ])('for Accept: %s', (accept) => expect(prefersJson(accept)).toBe(false));
});

describe('acceptsJson is true', () => {
  it.each([undefined, '*/*', 'application/*', 'text/html, */*;q=0.1', 'text/event-stream, application/json'])(
    'for Accept: %s',
    (accept) => expect(acceptsJson(accept)).toBe(true),
  );
});

describe('acceptsJson is false', () => {
  it.each(['', 'text/plain', 'application/json;q=0', '*/*;q=0.000', 'application/json;q=0, */*'])(
    'for Accept: %s',
    (accept) => expect(acceptsJson(accept)).toBe(false),
  );
});

it('An Accept header of the maximum length is read without an error', () => {
  for (const piece of ['a/b,', '"', '\\"', ';q=0', 'application/json;q=0.1,'])
    expect(prefersJson(piece.repeat(16_384 / piece.length))).toBeTypeOf('boolean');
});
