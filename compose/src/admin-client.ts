/** An answer of the management routes that is no success. */
export class AdminRefused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(method: string, path: string, status: number, body: { error?: string; code?: string }) {
    super(`${method} ${path} answered ${status} ${body.code ?? ''}: ${body.error ?? ''}`);
    this.name = 'AdminRefused';
    this.status = status;
    this.code = body.code ?? '';
  }
}

/** The management routes with an admin key, as automation uses them. */
export interface AdminClient {
  /** @throws AdminRefused for any answer that is no 2xx */
  call<T = unknown>(method: string, path: string, body?: object): Promise<T>;
}

export function createAdminClient(baseUrl: string, adminKey: string): AdminClient {
  return {
    call: async <T>(method: string, path: string, body?: object): Promise<T> => {
      const response = await fetch(baseUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${adminKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const answer = (text === '' ? {} : JSON.parse(text)) as object;
      if (!response.ok) throw new AdminRefused(method, path, response.status, answer);
      return answer as T;
    },
  };
}

/** What `POST /api/tokens` answers beside the token: where its secret goes, and the ticket that lets it in. */
export interface StoreTicket {
  readonly url: string;
  readonly ticket: string;
}

/** Names a token at the service and hands its secret straight to the webhook; the service never sees it. */
export async function storeCredential(
  admin: AdminClient,
  serviceName: string,
  credential: { readonly tokenType: string } & Record<string, unknown>,
): Promise<void> {
  const { tokenType } = credential;
  const { store } = await admin.call<{ store: StoreTicket }>('POST', '/api/tokens', {
    serviceName,
    tokenType,
  });
  await putSecret(store, credential);
}

/** @throws Error when the webhook does not take it */
export async function putSecret(store: StoreTicket, credential: object): Promise<void> {
  const response = await fetch(store.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${store.ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify(credential),
  });
  if (!response.ok) throw new Error(`the webhook answered ${response.status}: ${await response.text()}`);
}
