import { newId } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import { type ConsentRequest, type OfferedAgent, consentPage } from './consent-page-html.ts';

const agent = (name: string, more: Partial<OfferedAgent> = {}): OfferedAgent => ({
  id: newId('agt'),
  name,
  description: '',
  mcpEnabled: true,
  credentials: [],
  hasMore: false,
  ...more,
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
    agents: [agent(evil, { description: evil, credentials: [evil] }), agent('two')],
    fields: [['state', evil]],
    message: evil,
  });
  expect(body).not.toContain('<script');
  expect(body.match(/&lt;script/g)).toHaveLength(6);
  expect(bodyOf({ agents: Array.from({ length: 7 }, () => agent(evil)) })).not.toContain('<script');
});

describe('the agents', () => {
  const agents = (count: number): OfferedAgent[] =>
    Array.from({ length: count }, (_, n) => agent(`agent ${n}`));
  const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');

  test('stand in a list, up to six, and then in a menu', () => {
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

  test('each has a label, and says with it which credentials can be read, those beyond six folded away', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const listed = [
      agent('none'),
      agent('few', { credentials: ['github'] }),
      agent('many', { credentials: names }),
      agent('too many', { credentials: names, hasMore: true }),
    ];
    const body = bodyOf({ agents: listed });
    const inputs = [...body.matchAll(/<input type="radio"[^>]* id="([^"]*)"/g)].map(([, id]) => id);
    expect([...body.matchAll(/<label for="([^"]*)"/g)].map(([, id]) => id)).toEqual(inputs);
    const reads = [...body.matchAll(/id="reads-[^"]*">([^]*?)<\/div>/g)].map(([, text = '']) => textOf(text));
    const all = ['No credentials yet.', 'Reads github', 'Reads a, b, c, d, e, f,2 moreg, h'];
    expect(reads).toEqual([...all, 'Reads a, b, c, d, e, f,More credentialsg, h and more']);
    const menu = textOf(bodyOf({ agents: [...listed, ...agents(3)] }));
    for (const text of all) expect(menu).toContain(text);
  });

  test('one whose MCP is off says that Allow switches it on, and the form repeats it for that agent alone', () => {
    const off = agent('off', { mcpEnabled: false });
    const body = bodyOf({ agents: [agent('on'), off] });
    expect(textOf(body)).toContain('MCP is off for this agent: Allow switches it on.');
    expect([...body.matchAll(/name="(mcp[^"]*)" value="on"/g)].map(([, name]) => name)).toEqual([
      `mcp_${off.id}`,
    ]);
  });
});
