import type { TestPair } from '@svault/test-kit/pair';

/** An admin, signed in to the console in a browser. */
export interface PersonAtBrowser {
  readonly email: string;
  /**
   * Opens the page that a command-line client asked for, and decides there.
   * @returns where the page leads to, and what it shows
   */
  decide(
    authorizeUrl: string,
    decision: 'allow' | 'deny',
  ): Promise<{ readonly location: string; readonly page: string }>;
}

export async function personAtBrowser(pair: TestPair): Promise<PersonAtBrowser> {
  const email = 'ada@example.org';
  const {
    link: { url },
  } = await pair.admin.call<{ link: { url: string } }>('POST', '/api/members', { email, role: 'admin' });
  // The public address of a pair in a test is one that nothing listens at.
  const { origin } = new URL(url);
  let cookie = '';
  const submit = (path: string, fields: Record<string, string>): Promise<Response> =>
    fetch(pair.controlPlaneUrl() + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin, cookie },
      body: new URLSearchParams(fields),
    });
  const welcome = await submit('/login/link', { token: new URL(url).searchParams.get('token') ?? '' });
  cookie = welcome.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  return {
    email,
    decide: async (authorizeUrl, decision) => {
      const request = new URL(authorizeUrl).searchParams.get('request') ?? '';
      const answer = await submit('/login/cli', { request, decision });
      return { location: answer.headers.get('location') ?? '', page: await answer.text() };
    },
  };
}
