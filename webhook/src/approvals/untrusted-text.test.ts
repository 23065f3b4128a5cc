import { describe, expect, it } from 'vitest';
import { lookalikeNote, untrustedBlock } from './untrusted-text.ts';

describe('a text of somebody else’s', () => {
  it('is text and no markup', () => {
    const html = untrustedBlock('</bdi></pre><script>alert(1)</script>', 'A "label"').toString();
    expect(html).toContain('&lt;/bdi&gt;&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).toContain('aria-label="A &quot;label&quot;"');
  });
});

describe('a name', () => {
  it('of ASCII needs no note', () => {
    expect(lookalikeNote('github.com')).toBeUndefined();
  });

  it('with letters of other scripts is pointed out, each once and eight at most', () => {
    expect(lookalikeNote('gіthub-аа')?.toString()).toMatch(
      /<bdi>і<\/bdi> \(U\+0456, Cyrillic\),\s<bdi>а<\/bdi> \(U\+0430, Cyrillic\)$/,
    );
    expect(lookalikeNote('абвгдежзик')?.toString()).toContain(' and 2 more');
    expect(lookalikeNote('a\u202Eb')?.toString()).toContain('<bdi>\\u{202e}</bdi> (U+202E)');
  });
});
