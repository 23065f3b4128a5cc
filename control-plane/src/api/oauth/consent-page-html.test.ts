import { newId } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import type { Agent } from '../../core/agent.ts';
import { type ConsentRequest, consentPage } from './consent-page-html.ts';

const agent = (name: string, mcpEnabled = true): Agent => ({
  id: newId('agt'),
  vaultId: newId('vlt'),
  ownerId: newId('usr'),
  name,
  description: '',
  status: 'active',
  mcpEnabled,
  sealingKeyThumbprint: undefined,
  keyPrefix: 'svagent_abcd…',
  createdAt: '2026-11-20T12:00:00.000Z',
  lastUsedAt: undefined,
});
const registered = { id: newId('ocl'), name: 'Client', uri: undefined, redirectUris: [] };
const described = { ...registered, id: 'https://client.example/client.json' };
const bodyOf = (more: Partial<ConsentRequest>): string =>
  consentPage({
    client: registered,
    redirectUri: 'https://client.example/cb',
    account: 'owner@example.org',
    agents: [agent('one'), agent('two')],
    more: false,
    fields: [],
    action: '/authorize',
    ...more,
  }).body.toString();

describe('what a person is warned of', () => {
  const CAME_FROM = 'if you have just come from <strong>client.example</strong>';
  const STARTED = 'just started this yourself</strong>';
  const ANYBODY = 'Any program on this computer can call itself so';
  test.each([
    ['a client that registered', registered, 'https://client.example/cb', [CAME_FROM]],
    [
      'one that is described where it is answered',
      described,
      'https://client.example/cb',
      [STARTED, 'verified</span>'],
    ],
    [
      'one that is answered elsewhere',
      { ...described, id: 'https://other.example/c' },
      'https://client.example/cb',
      [CAME_FROM],
    ],
    [
      'one on another port of its host',
      described,
      'https://client.example:8443/cb',
      ['client.example:8443</strong>'],
    ],
    // Whoever runs a program here can say the address of somebody else's document.
    [
      'one on this computer, though it is described',
      described,
      'http://localhost:3000/cb',
      [ANYBODY, STARTED, 'a program on this computer'],
    ],
    ['one on this computer', registered, 'http://[::1]:3000/cb', [ANYBODY, '[::1]:3000']],
    ['an app', registered, 'com.example.app:/cb', [ANYBODY, 'com.example.app:</span>', 'opens such links']],
  ])('of %s', (_what, client, redirectUri, said) => {
    const body = bodyOf({ client, redirectUri });
    for (const words of said) expect(body).toContain(words);
    expect(body).toContain('unverified name');
  });
});

test('nothing that somebody wrote is HTML', () => {
  const evil = `"'><script>alert(1)</script>`;
  const body = bodyOf({
    client: { ...registered, name: evil },
    account: evil,
    agents: [{ ...agent(evil), description: evil }, agent('two')],
    fields: [['state', evil]],
    message: evil,
  });
  expect(body).not.toContain('<script');
  expect(body.match(/&lt;script/g)).toHaveLength(6);
  expect(bodyOf({ agents: Array.from({ length: 7 }, () => agent(evil)) })).not.toContain('<script');
});

describe('the agents', () => {
  test('stand in a list, up to six, and then in a menu', () => {
    const agents = (count: number): Agent[] => Array.from({ length: count }, (_, n) => agent(`agent ${n}`));
    expect(bodyOf({ agents: agents(6) }).match(/type="radio"/g)).toHaveLength(6);
    const menu = bodyOf({ agents: agents(7) });
    expect(menu).not.toContain('type="radio"');
    expect(menu.match(/<option value="agt_/g)).toHaveLength(7);
    // More than were read: one that was read could not be told for the only one.
    expect(bodyOf({ agents: agents(1), more: true })).toContain('name="agent_id"');
  });

  test('are chosen by the person alone: one click, the second of a double click perhaps, allows nothing', () => {
    const [one, two] = [agent('one'), agent('two')];
    const checked = (body: string): string[] =>
      [...body.matchAll(/value="([^"]*)" required checked/g)].map(([, id = '']) => id);
    expect(checked(bodyOf({ agents: [one] }))).toEqual([]);
    expect(checked(bodyOf({ agents: [one, two] }))).toEqual([]);
    expect(checked(bodyOf({ agents: [one, two], chosen: two.id }))).toEqual([two.id]);
  });

  test('each has a label, and so has the box that switches MCP on, which the only agent requires', () => {
    const off = agent('off', false);
    expect(bodyOf({ agents: [off] })).toMatch(
      /name="mcp_agt_[^>]* required[^]*value="deny"[^>]* formnovalidate/,
    );
    const body = bodyOf({ agents: [agent('on'), off] });
    const labelled = [...body.matchAll(/<label for="([^"]*)"/g)].map(([, id]) => id);
    const inputs = [...body.matchAll(/<input type="(?:radio|checkbox)"[^>]* id="([^"]*)"/g)].map(
      ([, id]) => id,
    );
    expect(inputs).toHaveLength(3);
    expect(labelled).toEqual(inputs);
    expect(body.match(/<input type="checkbox"(?![^>]* required)/g)).toHaveLength(1);
  });
});
