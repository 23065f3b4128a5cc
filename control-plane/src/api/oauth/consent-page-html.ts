import { alertText, hiddenField } from '@svault/server-kit/page-parts';
import { type SafeHtml, safeHtml } from '@svault/server-kit/safe-html';
import type { Agent } from '../../core/agent.ts';
import { type RedirectKind, redirectKindOf } from '../../authorization-server/redirect-uri.ts';
import type { PageContent } from '../pages/page.ts';
import { type OauthClient, isRegistered } from '../../core/oauth-client.ts';

/** Up to this many agents are radio buttons, more are a menu. */
export const MAX_LISTED = 6;
/** Of an agent's credentials; the others are folded away. */
const MAX_SHOWN = 6;

/** An agent that the client may be let act as. */
export interface OfferedAgent extends Pick<Agent, 'id' | 'name' | 'description' | 'mcpEnabled'> {
  /** Service names of its grants that have not expired. */
  readonly credentials: readonly string[];
  /** Whether it may have more than `credentials`. */
  readonly hasMore: boolean;
}

export interface ConsentRequest {
  readonly client: OauthClient;
  readonly redirectUri: string;
  /** E-mail address of the user. */
  readonly account: string;
  /** Active ones, at least one. */
  readonly agents: readonly OfferedAgent[];
  /** Whether there are more than `agents`. */
  readonly more: boolean;
  /** What the form sends back. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly action: string;
  /** Agent of a form that was rejected. */
  readonly chosen?: string | undefined;
  /** Why it was rejected. */
  readonly message?: string | undefined;
}

/** The page where a user allows a client to act as one of their agents, or denies it. */
export function consentPage(request: ConsentRequest): PageContent {
  const { client, redirectUri, account, fields, action, message } = request;
  return {
    name: 'consent',
    title: 'Let this program act as your agent?',
    account,
    body: safeHtml`${message === undefined ? undefined : alertText(message)}
<dl class="facts">
<dt>Who asks</dt>
<dd>${whoAsks(client)}</dd>
<dt>Answer goes to</dt>
<dd>${whereTo(redirectUri)}</dd>
</dl>
${warning(client, redirectUri)}
<p>It can then <strong>read every credential</strong> of the agent that you choose, also those that you grant later, until you
revoke it, for 90 days at most. The agent's policies and limits apply, and the log records each use.</p>
<form method="post" action="${action}">
${fields.map(([field, value]) => hiddenField(field, value))}
${agentPicker(request)}
<p class="actions stay"><button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="quiet" formnovalidate>Deny</button></p>
</form>`,
    next: undefined,
  };
}

/** Marks what is verified of a client, and what is only claimed. */
function whoAsks(client: OauthClient): SafeHtml {
  const name = safeHtml`<strong class="name"><bdi>${client.name}</bdi></strong> <span class="tag">unverified name</span>`;
  if (isRegistered(client)) return name;
  return safeHtml`${name}<br>
described at <span class="value">${new URL(client.id).host}</span> <span class="tag good">verified</span>`;
}

function whereTo(redirectUri: string): SafeHtml {
  const { host, protocol } = new URL(redirectUri);
  const value = (text: string): SafeHtml => safeHtml`<span class="value">${text}</span>`;
  const PLACES: Readonly<Record<RedirectKind, SafeHtml>> = {
    https: value(host),
    loopback: safeHtml`${value(host)}<br>a program on this computer`,
    privateUse: safeHtml`${value(protocol)}<br>the program on this computer that opens such links`,
  };
  return PLACES[redirectKindOf(redirectUri) ?? 'https'];
}

/** Anybody can make a page or a program that sends users here (RFC 9700 section 4.1; RFC 8252 section 8.6). */
function warning(client: OauthClient, redirectUri: string): SafeHtml {
  const { host } = new URL(redirectUri);
  if (redirectKindOf(redirectUri) !== 'https')
    return note(
      safeHtml`Any program on this computer can call itself so. Allow it only if you have <strong>just started this yourself</strong>.`,
    );
  if (!isRegistered(client) && new URL(client.id).host === host)
    return note(
      safeHtml`Allow it only if you have <strong>just started this yourself</strong> at that address.`,
    );
  return note(
    safeHtml`The name is only a claim; the address counts. Allow it only if you have just come from <strong>${host}</strong>.`,
  );
}

const note = (text: SafeHtml): SafeHtml => safeHtml`<p class="note">${text}</p>`;

/** No agent is preselected, not even the only one, so that a click which another page provoked allows nothing. */
function agentPicker({ agents, more, chosen }: ConsentRequest): SafeHtml {
  return agents.length <= MAX_LISTED && !more ? agentList(agents, chosen) : agentMenu(agents, chosen, more);
}

function agentList(agents: readonly OfferedAgent[], picked: string | undefined): SafeHtml {
  const entries = agents.map((agent) => {
    const checked = agent.id === picked ? ' checked' : '';
    const field = `agent-${agent.id}`;
    return safeHtml`<div class="option">
<input type="radio" name="agent" id="${field}" value="${agent.id}" required${checked} aria-describedby="reads-${agent.id}">
<label for="${field}"><bdi>${agent.name}</bdi>${description(agent)}</label>
<div class="reads" id="reads-${agent.id}">${credentialsOf(agent)}${mcpOff(agent)}</div>
</div>`;
  });
  return safeHtml`<fieldset>
<legend>Which agent may it act as?</legend>
${entries}
</fieldset>`;
}

const description = ({ description: text }: OfferedAgent): SafeHtml | undefined =>
  text === '' ? undefined : safeHtml` <span class="dim"><bdi>${text}</bdi></span>`;

function credentialsOf({ credentials, hasMore }: OfferedAgent): SafeHtml {
  if (credentials.length === 0)
    return hasMore ? safeHtml`More than this page can list.` : safeHtml`No credentials yet.`;
  const all = [...named(credentials), ...(hasMore ? [safeHtml` and more`] : [])];
  const folded = all.slice(MAX_SHOWN);
  return safeHtml`Reads ${all.slice(0, MAX_SHOWN)}${
    folded.length === 0
      ? undefined
      : safeHtml`<details><summary>${hasMore ? 'More credentials' : `${folded.length} more`}</summary>${folded}</details>`
  }`;
}

const named = (names: readonly string[]): SafeHtml[] =>
  names.map((name, index) => safeHtml`<code>${name}</code>${index < names.length - 1 ? ',' : ''}`);

/** The person was told that allowing switches MCP on, so the form says so too: a switch that was off since is not flipped. */
function mcpOff({ id, mcpEnabled }: OfferedAgent): SafeHtml | undefined {
  if (mcpEnabled) return undefined;
  return safeHtml`<br>
MCP is off for this agent: <strong>Allow switches it on.</strong>${hiddenField(`mcp_${id}`, 'on')}`;
}

function agentMenu(agents: readonly OfferedAgent[], picked: string | undefined, more: boolean): SafeHtml {
  const options = agents.map(
    ({ id, name, mcpEnabled }) =>
      safeHtml`<option value="${id}"${id === picked ? ' selected' : ''}>${name}${mcpEnabled ? '' : ' (MCP is off)'}</option>`,
  );
  const other = safeHtml`<label for="agent_id">Or its id, for one that is not listed</label>
<input id="agent_id" name="agent_id" maxlength="40" placeholder="agt_…" autocomplete="off">`;
  return safeHtml`<label for="agent">Which agent may it act as?</label>
<select id="agent" name="agent"${more ? '' : ' required'}>
<option value="">Choose an agent</option>
${options}
</select>
${more ? other : undefined}
<details><summary>What each agent can read</summary>
<dl>
${agents.map(
  (agent) => safeHtml`<dt><bdi>${agent.name}</bdi></dt>
<dd>${credentialsOf(agent)}</dd>`,
)}
</dl>
</details>
<p class="dim">Where MCP is off for the agent, <strong>Allow switches it on.</strong></p>
${hiddenField('mcp', 'on')}`;
}

export const noAgentsPage = (client: OauthClient, account: string): PageContent => ({
  name: 'consent-no-agent',
  title: 'There is no agent yet',
  account,
  body: safeHtml`<p><strong class="name"><bdi>${client.name}</bdi></strong> asks to act as one of your agents, and your account has none that is
active.</p>`,
  next: safeHtml`<p>Create one in your terminal, then load this page again:</p>
<pre><code>svault agents create --name my-agent --mcp</code></pre>
<p class="dim">A suspended agent is not offered here; <code>svault agents resume</code> makes it active again.</p>`,
});

export const lockedPage: PageContent = {
  name: 'consent-vault-locked',
  title: 'The vault is locked',
  body: safeHtml`<p>While it is locked, no program is let in.</p>`,
  next: safeHtml`<p>An admin of the account unlocks it with <code>svault vault unlock</code>. Then load this page again.</p>`,
};
