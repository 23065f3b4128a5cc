import { describe, expect, it } from 'vitest';
import { htmlPage } from '@svault/server-kit/html-page';
import { type WebhookPage, connectPage, refusedPage, setupTokenPage } from './bind-page.ts';

const htmlOf = (page: WebhookPage): string =>
  htmlPage({ program: 'webhook', url: 'https://hooks.example' }, page);

describe('the bind page', () => {
  it('labels its field and can be submitted with the keyboard', () => {
    const html = htmlOf(setupTokenPage());
    expect(html).toContain('<html lang="en">');
    expect(html).toContain('<label for="setup-token">');
    expect(html).toMatch(/<input id="setup-token"[^>]*type="password"[^>]*required[^>]*autofocus/);
    expect(html).toContain('<button type="submit">');
  });

  it('reports a problem where assistive technology finds it', () => {
    const html = htmlOf(setupTokenPage({ problem: 'wrong' }));
    expect(html).toContain('id="problem" role="alert">wrong<');
    expect(html).toContain('aria-describedby="problem"');
  });

  it('has no attribute that could run a script, and a script element only to show the token', () => {
    const pages = [
      setupTokenPage(),
      connectPage({ serviceUrl: 'https://vault.example', hmacHash: 'ab'.repeat(32), token: 't' }),
      refusedPage({ code: 'SETUP_REQUIRED', message: 'm' }),
    ];
    for (const html of pages.map(htmlOf)) expect(html).not.toMatch(/\son\w+=|javascript:|style="/i);
    expect(pages.map((page) => htmlOf(page).includes('<script>'))).toEqual([true, false, false]);
  });

  it('shows address and fingerprint, and escapes both', () => {
    const html = htmlOf(
      connectPage({ serviceUrl: 'https://a/<b>"&\'', hmacHash: '0123456789abcdef', token: 't"' }),
    );
    expect(html).toContain('https://a/&lt;b&gt;&quot;&amp;&#39;');
    expect(html).toContain('0123 4567 89ab cdef');
    expect(html).toContain('value="t&quot;"');
  });
});
