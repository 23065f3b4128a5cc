import type { Send } from '../../../src/admin-client.ts';
import { fetchFrom } from './hosts.ts';
import { CONTROL_PLANES, SERVICE_HOST, type Scale } from './scale.ts';

/** What came back, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined where it is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
  readonly json: any;
}

/** One request; no redirect is followed, and one that hangs is an error. */
export type Call = (
  method: string,
  path: string,
  options?: {
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  },
) => Promise<Answer>;

/** Three control planes, each directly and all behind the reverse proxy. */
export interface Endpoints {
  /** In the order of their names. */
  readonly direct: readonly [Call, Call, Call];
  readonly proxy: Call;
  readonly all: readonly [Call, Call, Call, Call];
  close(): Promise<void>;
}

/** Much longer than any answer takes on a busy machine, also while a part is away. */
const HANGS_MS = 20_000;

export async function endpointsOf(scale: Scale): Promise<Endpoints> {
  const opened = await Promise.all(
    CONTROL_PLANES.map(async (name) => {
      const { port } = new URL(await scale.direct(name));
      return fetchFrom({ [SERVICE_HOST]: Number(port) }, '');
    }),
  );
  const [one, two, three] = opened.map(({ send }) => callOf(send, `http://${SERVICE_HOST}`));
  if (one === undefined || two === undefined || three === undefined) throw new Error('there are not three');
  const proxy = callOf(scale.send, scale.url);
  return {
    direct: [one, two, three],
    proxy,
    all: [one, two, three, proxy],
    close: async () => void (await Promise.all(opened.map(({ close }) => close()))),
  };
}

const callOf =
  (send: Send, url: string): Call =>
  async (method, path, { body, headers } = {}) => {
    const response = await send(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(HANGS_MS),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: tryJson(text) };
  };

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const bearer =
  (call: Call, key: string): Call =>
  (method, path, options = {}) =>
    call(method, path, { ...options, headers: { authorization: `Bearer ${key}`, ...options.headers } });

/** @throws Error where the answer is no success; @returns its body */
// oxlint-disable-next-line typescript/no-explicit-any -- as above
export async function done(asked: Promise<Answer>): Promise<any> {
  const { status, text, json } = await asked;
  if (status >= 300) throw new Error(`answered ${status}: ${text}`);
  return json;
}

/** Status and code of an answer, in whichever shape it says them: plain, JSON-RPC error, or tool result. */
export const gist = ({ status, json }: Answer): string => {
  if (status === 307) return '307';
  const code = json?.code ?? json?.error?.data?.code ?? json?.result?.structuredContent?.code;
  return `${status} ${typeof code === 'string' ? code : ''}`.trim();
};

/** How many answers say what. */
export const tally = (answers: readonly Answer[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(answers, gist)).map(([what, some]) => [what, some?.length ?? 0]),
  );

/** So many callers ask at once, on two cores that do all the rest too. */
const AT_ONCE = 24;

/** Asks so many times, many at once, in turns at all endpoints. */
export async function spread<T>(
  count: number,
  endpoints: readonly Call[],
  ask: (endpoint: Call, n: number) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const endpoint = endpoints[n % endpoints.length];
      if (endpoint === undefined) throw new Error('there is no endpoint');
      answers[n] = await ask(endpoint, n);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, AT_ONCE) }, one));
  return answers;
}
