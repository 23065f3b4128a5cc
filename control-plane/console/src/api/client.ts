import createClient from 'openapi-fetch';
import type { components, paths } from './management-api.ts';

/** A JSON shape of the API, by its name in the OpenAPI document. */
export type Schemas = components['schemas'];

/** The management API, by the types that its OpenAPI document says. */
export const api = createClient<paths>({ credentials: 'same-origin' });

interface Issue {
  readonly path: string;
  readonly message: string;
}

/** What went wrong, in words for the person who did it. */
export class Problem extends Error {
  /** What is wrong with which field, or member of the request. */
  readonly issues: readonly Issue[];

  constructor(message: string, issues: readonly Issue[] = []) {
    super(message);
    this.issues = issues;
  }
}

/** An answer that is an error, as the API words it. */
export class ApiFailure extends Problem {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;

  constructor(status: number, { error, code, requestId, issues }: Partial<Schemas['Error']>) {
    super(error ?? `The control plane answered with status ${status}.`, issues);
    this.status = status;
    this.code = code ?? 'UNKNOWN';
    this.requestId = requestId;
  }
}

/** No answer came, or one that is no JSON. */
class NoAnswer extends Problem {
  constructor() {
    super('The control plane does not answer. Check that it runs and that this computer is online.');
  }
}

interface Answer<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * What an operation answers; undefined where the answer has no content. Without a session the browser goes to sign in, and
 * comes back to the same address; a form in which something is typed stays, and says what to do.
 * @throws ApiFailure for an answer that is an error, NoAnswer where none comes
 */
export async function answerOf<Data>(call: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await call.catch(unanswered);
  if (response.status === 401 && document.querySelector('form[data-typed]') === null)
    window.location.assign(signInPath(window.location.pathname + window.location.search));
  if (!response.ok) throw new ApiFailure(response.status, (typeof error === 'object' && error) || {});
  return data as NonNullable<Data>;
}

/** `fetch` rejects with a TypeError where no answer comes, and the reader of JSON with a SyntaxError. */
function unanswered(error: unknown): never {
  throw error instanceof TypeError || error instanceof SyntaxError ? new NoAnswer() : error;
}

/** Address of the sign-in page, which leads on to a screen. */
export const signInPath = (returnTo: string): string =>
  `/login?${new URLSearchParams({ returnTo }).toString()}`;
