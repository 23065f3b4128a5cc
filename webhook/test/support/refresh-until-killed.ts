import { setImmediate, setTimeout } from 'node:timers/promises';
import type { RefreshBench } from './refresh-bench.ts';
import { type ServingProcess, serveProcess } from './run-webhook.ts';
import { setToNow } from './store-until-killed.ts';

/** What somebody who fetches a token again and again knows of it. Every fetch finds it expired. */
export interface FetchedToken {
  readonly name: string;
  /** The refresh token that was stored, or came with the last answer: what the webhook had on its disk by then. */
  refreshToken: string;
}

/**
 * When the webhook is killed:
 *
 * - `call dropped`: while the provider has the call, which it then forgets
 * - `call served`: while the provider has the call, whose answer then finds nobody: the new token is lost, by design
 * - `in between`: at any moment of refreshes that go on
 */
export type KillMoment = 'call dropped' | 'call served' | 'in between';

export async function storeFetched(bench: RefreshBench, name: string): Promise<FetchedToken> {
  const { refreshToken } = await bench.store(name, { body: { shareRefreshToken: true } });
  return { name, refreshToken };
}

/**
 * Serves a webhook's data as a process of its own and fetches expired tokens from it until it is killed with SIGKILL.
 *
 * @param bench its webhook stopped in this process; its provider gives tokens that expire at once
 * @param afterCalls the kill follows so many calls to the provider
 */
export async function refreshUntilKilled(
  bench: RefreshBench,
  tokens: readonly FetchedToken[],
  { moment, afterCalls }: { readonly moment: KillMoment; readonly afterCalls: number },
): Promise<void> {
  const { provider } = bench;
  const before = provider.calls.length;
  const serving = await serveProcess(bench.webhook.env);
  const fetching = Promise.all(tokens.map((token) => fetchOn(bench, serving, token)));
  await Promise.race([provider.arrived(before + afterCalls), fetching]);
  if (moment === 'in between') {
    // Somewhere in the time that one refresh takes, so that over many kills each step of it is hit.
    await setTimeout(Math.random() * 8);
    await serving.end('SIGKILL');
  } else {
    const gate = provider.hold();
    await Promise.race([provider.arrived(provider.calls.length + 1), fetching]);
    await serving.end('SIGKILL');
    if (moment === 'call dropped') provider.misbehave('break_before');
    gate.release();
    // The provider decides in this turn and the next.
    for (let turn = 0; turn < 3; turn += 1) await setImmediate();
    provider.misbehave(undefined);
  }
  await fetching;
}

/** Until the connection breaks, or the token has had its calls of the hour. */
async function fetchOn(bench: RefreshBench, serving: ServingProcess, token: FetchedToken): Promise<void> {
  for (;;) {
    setToNow(bench.webhook);
    const ticket = bench.webhook.credentialTicket(token.name);
    const answer = await fetch(`${serving.url}/v1/credential?ticket=${ticket}`)
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined);
    if (answer === undefined || answer.status === 429) return;
    if (answer.status !== 200) throw new Error(`a fetch was answered ${answer.status}: ${answer.text}`);
    token.refreshToken = (JSON.parse(answer.text) as { token: { refreshToken: string } }).token.refreshToken;
  }
}

/** What came of the tokens after a kill. */
export interface AfterKill {
  /** What must not be; empty. */
  readonly wrong: readonly string[];
  /** How many need their owner, since the provider's answer found nobody. They are stored anew by now. */
  readonly lost: number;
}

/**
 * Looks after a kill whether each token is good, or is shown as lost after one try; and shows nothing twice more.
 *
 * @param bench its webhook running again in this process
 */
export async function afterKill(bench: RefreshBench, tokens: readonly FetchedToken[]): Promise<AfterKill> {
  const { provider, webhook } = bench;
  const wrong: string[] = [];
  let lost = 0;
  setToNow(webhook);
  for (const token of tokens) {
    const { name, refreshToken: known } = token;
    const { status, json } = await webhook.credential(name);
    if (status === 200) {
      token.refreshToken = json.token.refreshToken;
      if (!provider.isGood(token.refreshToken)) wrong.push(`${name}: a spent refresh token is stored`);
      continue;
    }
    if (json.code !== 'REAUTH_NEEDED') wrong.push(`${name}: answered ${status} ${json.code}`);
    if ((await bench.metadata(name)).reauthNeeded !== true) wrong.push(`${name}: not shown as lost`);
    await bench.fetch(name);
    wrong.push(...blindTries(bench, name, known));
    lost += 1;
    token.refreshToken = (await storeFetched(bench, name)).refreshToken;
  }
  return { wrong, lost };
}

/**
 * A token may be lost only by a kill between the provider's rotation and the webhook's commit: the last one that was
 * shown was taken once, by the call that the kill cut off, and refused once, by the one try after it.
 */
function blindTries(bench: RefreshBench, name: string, known: string): readonly string[] {
  const outcomes = new Map<string, string[]>();
  for (const { form, outcome } of bench.provider.calls) {
    const shown = form.get('refresh_token') ?? '';
    outcomes.set(shown, [...(outcomes.get(shown) ?? []), outcome]);
  }
  const refused = [...outcomes.values()].filter((of) => of.includes('invalid_grant'));
  const wrong = refused
    .filter((of) => of.join() !== 'refreshed,invalid_grant')
    .map((of) => `${name}: ${of.join()}`);
  // What was answered was stored before: it was shown by nobody but a later refresh.
  if (!outcomes.has(known))
    wrong.push(`${name}: the token that was answered last was not the one that was shown`);
  return wrong;
}
