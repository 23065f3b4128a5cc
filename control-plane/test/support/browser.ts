import { type Answer, BASE_URL, clientOf } from './management-service.ts';

/** A browser as far as signing in needs one: it keeps cookies, sends forms with an Origin, and follows what it is told to. */
export interface TestBrowser {
  readonly cookies: Map<string, string>;
  /** One request, no redirect followed. @param path of the service, or an address anywhere */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Sends a form of one of the service's pages. */
  submit(path: string, fields: Readonly<Record<string, string>>): Promise<Answer>;
  /** Opens a path and goes where the redirects of the service lead. */
  visit(path: string): Promise<Answer & { readonly path: string }>;
}

const HTML = { accept: 'text/html,application/xhtml+xml' };

/** @param url where the service listens; its own addresses are those of BASE_URL */
export function browserOn(url: string): TestBrowser {
  const cookies = new Map<string, string>();
  const call = clientOf(url, HTML);
  const ask: typeof call = async (method, path, options) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie !== '' && { cookie }), ...options?.headers };
    const answer = await call(method, path, { ...options, headers });
    keep(cookies, answer.headers.getSetCookie());
    return answer;
  };
  const get: TestBrowser['get'] = (path, headers) => ask('GET', path, headers && { headers });
  return {
    cookies,
    get,
    submit: (path, fields) =>
      ask('POST', path, {
        rawBody: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL },
      }),
    visit: async (start) => {
      let path = start;
      for (let hops = 0; hops < 10; hops++) {
        const answer = await get(path);
        const location = answer.headers.get('location');
        if (location === null) return { ...answer, path };
        path = location;
      }
      throw new Error(`${start} leads nowhere`);
    },
  };
}

/** Takes in the `Set-Cookie` lines of an answer. */
export function keep(cookies: Map<string, string>, lines: readonly string[]): void {
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (/;\s*Max-Age=0/i.test(line) || /expires=thu, 01 jan 1970/i.test(line)) cookies.delete(name);
    else cookies.set(name, value);
  }
}

/** What stands in a page as text. */
export const textOf = (html: string): string =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** The fields that a page's form carries. */
export const fieldsOf = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="([\w-]+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, textOf(value)],
    ),
  );
