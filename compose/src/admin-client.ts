interface RefusalBody {
  readonly error?: string;
  readonly code?: string;
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
}

/** An answer of the management routes that is no success. */
export class AdminRefused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(method: string, path: string, status: number, body: RefusalBody) {
    const issues = (body.issues ?? []).map((issue) => ` ${issue.path} ${issue.message}.`).join('');
    super(`${method} ${path} answered ${status} ${body.code ?? ''}: ${body.error ?? ''}${issues}`);
    this.name = 'AdminRefused';
    this.status = status;
    this.code = body.code ?? '';
  }
}

export type Send = typeof globalThis.fetch;

export type AdminClient = ReturnType<typeof createAdminClient>;

/**
 * The management routes with an admin key, as automation uses them.
 * @param send in place of the global `fetch`, for a control plane that is reached in another way
 */
export function createAdminClient(baseUrl: string, adminKey: string, send: Send = fetch) {
  return {
    /** @throws AdminRefused for any answer that is no 2xx */
    call: async <T = unknown>(method: string, path: string, body?: object): Promise<T> => {
      const response = await send(baseUrl + path, {
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

/** The part of the response of `POST /api/tokens` that says where the secret goes, and with which ticket. */
export interface StoreTicket {
  readonly url: string;
  readonly ticket: string;
}

/** Names a token at the control plane and hands its secret straight to the webhook; the control plane never sees it. */
export async function storeCredential(
  admin: AdminClient,
  serviceName: string,
  credential: { readonly tokenType: string } & Record<string, unknown>,
  send: Send = fetch,
): Promise<void> {
  const { tokenType } = credential;
  const named = { serviceName, tokenType };
  const { store } = await admin.call<{ store: StoreTicket }>('POST', '/api/tokens', named);
  await putSecret(store, credential, send);
}

/** @throws Error when the webhook does not take it */
export async function putSecret(store: StoreTicket, credential: object, send: Send = fetch): Promise<void> {
  const response = await send(store.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${store.ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify(credential),
  });
  if (!response.ok) throw new Error(`the webhook answered ${response.status}: ${await response.text()}`);
}
