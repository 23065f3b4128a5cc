/**
 * Walks through the webhook's `/bind` page as an owner's browser does: set-up token, then connect.
 *
 * @returns the registration link that the browser is sent to
 */
export async function registrationLinkByPage(webhookUrl: string, setupToken: string): Promise<string> {
  const entered = await submit(webhookUrl, { setup_token: setupToken });
  const connectToken = /name="connect_token" value="([^"]+)"/.exec(await entered.text())?.[1];
  if (connectToken === undefined)
    throw new Error(`the bind page answered ${entered.status} and offers no connect`);
  const connected = await submit(webhookUrl, { connect_token: connectToken });
  const link = connected.headers.get('location');
  if (connected.status !== 303 || link === null) throw new Error(`connect answered ${connected.status}`);
  return link;
}

const submit = (webhookUrl: string, form: Record<string, string>): Promise<Response> =>
  fetch(`${webhookUrl}/bind`, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' });
