import { type SafeHtml, safeHtml } from '@svault/server-kit/html-page';
import type { Agent } from '../../core/agent.ts';
import { type RedirectKind, redirectKindOf } from '../../authorization-server/redirect-uri.ts';
import { type PageContent, alertText, hiddenField } from '../pages/page.ts';
import { type OauthClient, isRegistered } from '../../core/oauth-client.ts';

/** Up to this many agents are radio buttons, more are a menu. */
const MAX_LISTED = 6;

export interface ConsentRequest {
  readonly client: OauthClient;
  readonly redirectUri: string;
  /** E-mail address of the user. */
  readonly account: string;
  /** Active ones, at least one. */
  readonly agents: readonly Agent[];
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
    title: 'Let this program act as your agent?',
    body: safeHtml`${message === undefined ? '' : alertText(message)}
<dl class="facts">
<dt>Who asks</dt>
<dd>${whoAsks(client)}</dd>
<dt>Where the answer goes</dt>
<dd>${whereTo(redirectUri)}</dd>
<dt>Your account</dt>
<dd class="value">${account}</dd>
</dl>
${warning(client, redirectUri)}
<p id="gets">In the name of the agent that you choose, it will be able to</p>
<ul aria-labelledby="gets">
<li>see which credentials the agent is granted, and until when;</li>
<li>get one-time addresses from which those credentials are fetched.</li>
</ul>
<p class="dim">The agent's grants, policies and limits hold, and the log shows every use. It lasts until you revoke it, at most
90 days, and ends by itself after 30 days without use.</p>
<form method="post" action="${action}">
${fields.map(([field, value]) => hiddenField(field, value))}
${agentPicker(request)}
<div class="choice">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="quiet" formnovalidate>Deny</button>
</div>
</form>`,
  };
}

/** Marks what is verified of a client, and what is only claimed. */
function whoAsks(client: OauthClient): SafeHtml {
  const name = safeHtml`<strong class="name">${client.name}</strong> <span class="tag">unverified name</span>`;
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
    safeHtml`The name is what the program calls itself; what counts is the address. Allow it only if you have just come from <strong>${host}</strong>.`,
  );
}

const note = (text: SafeHtml): SafeHtml => safeHtml`<p class="note">${text}</p>`;

/** No agent is preselected, not even the only one, so that a click which another page provoked allows nothing. */
function agentPicker({ agents, more, chosen }: ConsentRequest): SafeHtml {
  return agents.length <= MAX_LISTED && !more ? agentList(agents, chosen) : agentMenu(agents, chosen, more);
}

function agentList(agents: readonly Agent[], picked: string | undefined): SafeHtml {
  const entries = agents.map((agent) => {
    const checked = agent.id === picked ? ' checked' : '';
    const field = `agent-${agent.id}`;
    return safeHtml`<div class="option">
<input type="radio" name="agent" id="${field}" value="${agent.id}" required${checked}>
<label for="${field}">${agent.name}${description(agent)}</label>
${agent.mcpEnabled ? '' : switchOn(agent, agents.length === 1)}</div>`;
  });
  return safeHtml`<fieldset>
<legend>Which agent may it act as?</legend>
${entries}
</fieldset>`;
}

const description = ({ description: text }: Agent): SafeHtml | undefined =>
  text === '' ? undefined : safeHtml` <span class="dim">${text}</span>`;

/** The checkbox of one agent; required where there is no other agent. */
function switchOn({ id }: Agent, isRequired: boolean): SafeHtml {
  const field = `mcp-${id}`;
  return safeHtml`<div class="switch"><input type="checkbox" name="mcp_${id}" id="${field}" value="on"${isRequired ? ' required' : ''}>
<label for="${field}">Switch MCP on for this agent: it is off</label></div>
`;
}

function agentMenu(agents: readonly Agent[], picked: string | undefined, more: boolean): SafeHtml {
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
${more ? other : ''}
<div class="switch"><input type="checkbox" name="mcp" id="mcp" value="on">
<label for="mcp">Switch MCP on for the agent, where it is off</label></div>`;
}

/** @param baseUrl public address of the service */
export const noAgentsPage = (client: OauthClient, baseUrl: string): PageContent => ({
  title: 'There is no agent yet',
  body: safeHtml`<p><strong class="name">${client.name}</strong> asks to act as one of your agents, and the account has none that is
active.</p>
<p>Make one with an admin key, then load this page again:</p>
<pre><code>curl -X POST ${baseUrl}/api/agents \\
  -H "Authorization: Bearer $SVAULT_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name":"my agent","mcpEnabled":true}'</code></pre>
<p class="dim">A suspended agent is not offered here; resume it first.</p>`,
});

export const lockedPage: PageContent = {
  title: 'The vault is locked',
  body: safeHtml`<p>No program is let in while it is. An admin of the account can unlock it; then load this page again.</p>`,
};
