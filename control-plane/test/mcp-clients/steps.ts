import type { OutsideService } from './outside-service.ts';

/** The tools of the specification, sorted. */
export const TOOLS = [
  'credential_history',
  'get_credential',
  'list_credentials',
  'show_credential',
  'whoami',
];

/** Ends a session by one of its tokens, at the endpoint that the metadata name. @returns the status */
export async function revoke({ url }: OutsideService, token: string): Promise<number> {
  const metadata = (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as {
    readonly revocation_endpoint: string;
  };
  const response = await fetch(metadata.revocation_endpoint, {
    method: 'POST',
    body: new URLSearchParams({ token }),
  });
  await response.body?.cancel();
  return response.status;
}

/** Ends every session that a client has, as an owner does. */
export async function endSessions({ pair }: OutsideService): Promise<void> {
  const { items } = await pair.admin.call<{ items: readonly { id: string; kind: string }[] }>(
    'GET',
    '/api/sessions',
  );
  for (const { id, kind } of items)
    if (kind === 'oauth') await pair.admin.call('DELETE', `/api/sessions/${id}`);
}
