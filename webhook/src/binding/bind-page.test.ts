import { describe, expect, it } from 'vitest';
import { connectPage, refusedPage, setupTokenPage } from './bind-page.ts';

describe('the bind page', () => {
  it('labels its field and can be submitted with the keyboard', () => {
    const html = setupTokenPage();
    expect(html).toContain('<html lang="en">');
    expect(html).toContain('<label for="setup-token">');
    expect(html).toMatch(/<input id="setup-token"[^>]*type="password"[^>]*required[^>]*autofocus/);
    expect(html).toContain('<button type="submit">');
  });

  it('reports a problem where assistive technology finds it', () => {
    const html = setupTokenPage({ problem: 'wrong' });
    expect(html).toContain('role="alert" id="problem">wrong<');
    expect(html).toContain('aria-describedby="problem"');
  });

  it('has no script and no attribute that could run one', () => {
    const pages = [
      setupTokenPage(),
      connectPage({ serviceUrl: 'https://vault.example', hmacHash: 'ab'.repeat(32), token: 't' }),
      refusedPage({ code: 'SETUP_REQUIRED', message: 'm' }),
    ];
    for (const html of pages) expect(html).not.toMatch(/<script|\son\w+=|javascript:|style="/i);
  });

  it('shows address and fingerprint, and escapes both', () => {
    const html = connectPage({ serviceUrl: 'https://a/<b>"&\'', hmacHash: '0123456789abcdef', token: 't"' });
    expect(html).toContain('https://a/&lt;b&gt;&quot;&amp;&#39;');
    expect(html).toContain('0123 4567 89ab cdef');
    expect(html).toContain('value="t&quot;"');
  });
});
