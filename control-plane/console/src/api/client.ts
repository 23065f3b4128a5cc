import createClient from 'openapi-fetch';
import type { components, paths } from './management-api.ts';

/** A JSON shape of the API, by its name in the OpenAPI document. */
export type Schemas = components['schemas'];

/** The management API, by the types that its OpenAPI document says. */
export const api = createClient<paths>({ credentials: 'same-origin' });

/** An answer that is an error, as the API words it. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;

  constructor(status: number, { error, code, requestId }: Partial<Schemas['Error']>) {
    super(error ?? `The control plane answered with status ${status}.`);
    this.status = status;
    this.code = code ?? 'UNKNOWN';
    this.requestId = requestId;
  }
}

interface Answer<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * What an operation answers. Without a session the browser goes to sign in, and comes back to the same address.
 * @throws ApiFailure for an answer that is an error; a TypeError where none comes
 */
export async function answerOf<Data>(call: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await call;
  if (response.status === 401) signInAgain();
  if (data === undefined || data === null)
    throw new ApiFailure(response.status, (typeof error === 'object' && error) || {});
  return data;
}

function signInAgain(): void {
  const { pathname, search } = window.location;
  window.location.assign(`/login?${new URLSearchParams({ returnTo: pathname + search }).toString()}`);
}
