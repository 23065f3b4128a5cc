import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  namesParameter,
  targetProblem,
  targetProblemText,
  upstreamTarget,
  withQuery,
} from './http-target.ts';

const BASE = 'https://api.test/v1/';

describe('a target', () => {
  it.each([
    '',
    '/',
    '?',
    '/a//b?c=d',
    '/@scope%2fname',
    '/a;b=c',
    '/...a',
    '/.git',
    '/a..b',
    '/%2525',
    '?/../a',
  ])('%j is one', (target) => {
    expect(targetProblem(target, BASE)).toBeUndefined();
  });

  it.each([
    ['a', 'absolute_target'],
    ['/#', 'fragment'],
    ['/ä', 'target_characters'],
    ['/\u007f', 'target_characters'],
    ['/a\\b', 'target_characters'],
    ['/..', 'path_dot_segment'],
    ['/a/%2E%2e?b', 'path_dot_segment'],
    ['/a%2F%2e%2E%2fb', 'path_dot_segment'],
    ['/%25%32%65', 'path_dot_segment'],
    ['/..%00/a', 'path_dot_segment'],
    ['/a%252525252525b', 'path_dot_segment'],
    ['/%252525252e', 'path_dot_segment'],
    ['/a/..;b', 'path_dot_segment'],
    ['/a/..%3Fb', 'path_dot_segment'],
    ['/a/..%2523', 'path_dot_segment'],
    ['/.%20%20', 'path_dot_segment'],
    [`/${'a'.repeat(8_192)}`, 'target_length'],
  ])('%j is %s', (target, problem) => {
    expect(targetProblem(target, BASE)).toBe(problem);
  });

  it('begins with two slashes only behind a path of the upstream', () => {
    expect(targetProblem('//evil.test', 'https://api.test/')).toBe('path_empty_segment');
    expect(targetProblem('//evil.test', 'https://api.test')).toBe('path_empty_segment');
    expect(targetProblem('//evil.test', BASE)).toBeUndefined();
  });

  it('without a problem leads a URL parser to the same origin, below the path of the upstream', () => {
    const piece = fc.constantFrom(
      '/',
      '.',
      '%2e',
      '%2F',
      '\\',
      '?',
      '#',
      '@',
      ':',
      'a',
      ' ',
      ';',
      '%',
      '\t',
      '//',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.constantFrom(BASE, 'https://api.test'),
        (pieces, base) => {
          const target = pieces.join('');
          fc.pre(targetProblem(target, base) === undefined);
          const asked = upstreamTarget(base, target);
          for (const url of [new URL(asked, base), new URL(`https://api.test${asked}`)]) {
            expect([asked, url.origin, url.username]).toEqual([asked, 'https://api.test', '']);
            expect([asked, `${url.pathname}/`.startsWith(base === BASE ? '/v1/' : '/')]).toEqual([
              asked,
              true,
            ]);
            expect(url.pathname).toBe(asked.split('?', 1)[0]);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('has a text for each problem, which quotes nothing of the target', () => {
    for (const problem of ['target_length', 'query_parameter', 'fragment', 'path_dot_segment'] as const)
      expect(targetProblemText(problem)).toMatch(/^The request.*\.$/);
  });
});

describe('parameters', () => {
  it.each([
    ['?key', true],
    ['?a&%6Bey=', true],
    ['?a;key=1', true],
    ['?key=%zz', true],
    ['/key', false],
    ['?KEY=1', false],
    ['?a=key', false],
    ['?%zzkey', false],
    ['?+key', false],
  ])('of %j: `key` is named: %s', (target, named) => {
    expect(namesParameter(target, 'key')).toBe(named);
  });

  it.each([
    ['/a', '/a?k=%C3%A4%20%26'],
    ['/a?', '/a?k=%C3%A4%20%26'],
    ['/a?b', '/a?b&k=%C3%A4%20%26'],
    ['/a?b=?', '/a?b=?&k=%C3%A4%20%26'],
    ['/a??', '/a??&k=%C3%A4%20%26'],
  ])('are appended to the query of %j', (target, expected) => {
    expect(withQuery(target, [['k', 'ä &']])).toBe(expected);
    expect(withQuery(target, [])).toBe(target);
  });
});
