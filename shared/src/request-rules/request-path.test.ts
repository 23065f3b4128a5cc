import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AmbiguousRequest } from './request-denial.ts';
import { isPathPattern, matchesPath, pathPattern, readPath } from './request-path.ts';

/** Where readings part: delimiters, dots, triplets of them and halves of triplets. */
const pieces = fc.constantFrom(
  ...['/', '/', '/', 'a', 'B', '.', '..', '-', '_', '~', '*', '@', ':', '=', ',', "'", '!', '(', '%20'],
  ...['%2e', '%2E', '%41', '%7e', '%c3%a9', '%E2%82%AC', '%40', '%25', '%23', '%3f', '2f', 'e'],
  ...['%2f', '%5c', '%3b', '%00', '%', ';', '\\', '?', '#', ' ', '%ff', '%ef%bc%8f', '日', '\t'],
);
const paths = fc.array(pieces, { maxLength: 12 }).map((rest) => `/${rest.join('')}`);

/** Its segments, or undefined for a path that is denied. */
function segmentsOf(path: string): readonly string[] | undefined {
  try {
    return readPath(path);
  } catch (error) {
    if (error instanceof AmbiguousRequest) return undefined;
    throw error;
  }
}

describe('readPath', () => {
  it('takes no path that a URL parser changes', () => {
    let taken = 0;
    fc.assert(
      fc.property(paths, (path) => {
        if (segmentsOf(path) === undefined) return;
        taken++;
        expect(new URL(path, 'https://api.example').pathname).toBe(path);
        expect(new URL(`https://api.example${path}?q`).pathname).toBe(path);
      }),
      { numRuns: 5000 },
    );
    expect(taken).toBeGreaterThan(500);
  });

  it('gives a spelling that it reads as the same segments, and that decodes to the same text', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const segments = segmentsOf(path);
        if (segments === undefined) return;
        const spelling = `/${segments.join('/')}`;
        expect(readPath(spelling)).toEqual(segments);
        expect(decodeURIComponent(spelling)).toBe(decodeURIComponent(path));
      }),
      { numRuns: 5000 },
    );
  });

  it('throws nothing but its own error, whatever the text is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        segmentsOf(text);
        segmentsOf(`/${text}`);
      }),
    );
  });

  it('keeps an empty last segment', () => {
    expect(readPath('/')).toEqual(['']);
    expect(readPath('/a/')).toEqual(['a', '']);
  });
});

describe('isPathPattern', () => {
  it.each(['/', '/a', '/*', '/**', '/*/a/*', '/a/*/**', '/a/', '/*/', '/%2A', '/a%40b', '/.well-known/**'])(
    'takes %s',
    (pattern) => {
      expect(isPathPattern(pattern)).toBe(true);
    },
  );

  it.each([
    ...['', '*', 'a', '**', 'https://api.example/a', '/a*', '/*a', '/a/*.json', '/***', '/**/a', '/**/'],
    ...[
      '/a/**/*',
      '/a//b',
      '/a/../b',
      '/a/%2e',
      '/a;b',
      '/a?b',
      '/a#b',
      '/a\\b',
      '/a b',
      '/a%2fb',
      '/a%252fb',
    ],
    ...['/a%', '/ä', '/*%20', `/${'a'.repeat(4096)}`],
  ])('does not take %s', (pattern) => {
    expect(isPathPattern(pattern)).toBe(false);
  });
});

describe('matchesPath', () => {
  it('agrees with a regular expression', () => {
    const segment = fc.constantFrom('a', 'b', 'a.b', '%2A');
    const request = fc.array(segment, { maxLength: 4 }).chain((full) => fc.constantFrom(full, [...full, '']));
    const pattern = fc
      .tuple(
        fc.array(fc.oneof(segment, fc.constant('*')), { maxLength: 4 }),
        fc.constantFrom([], [''], ['**']),
      )
      .map(([front, last]) => [...front, ...last]);
    fc.assert(
      fc.property(pattern, request, (wanted, asked) => {
        fc.pre(wanted.length > 0 && asked.length > 0);
        const source = wanted.map((part) => {
          if (part === '*') return '/[^/]+';
          return part === '**' ? '/.*' : `/${part.replaceAll('.', String.raw`\.`)}`;
        });
        const oracle = new RegExp(`^${source.join('')}$`);
        expect(matchesPath(pathPattern(`/${wanted.join('/')}`), asked)).toBe(
          oracle.test(`/${asked.join('/')}`),
        );
      }),
      { numRuns: 5000 },
    );
  });
});
