import { describe, expect, it } from 'vitest';
import { inAwsCredentials } from './aws-credentials.ts';
import { inEnvFile } from './env-file.ts';
import type { Parsed } from './finding.ts';
import { inGhHosts } from './gh-hosts.ts';
import { inMcpConfig } from './mcp-config.ts';
import { inNetrc } from './netrc.ts';
import { inNpmrc } from './npmrc.ts';

const SECRET = 'Vb7mQ2xK9pLd4RtY8wZc';
const OTHER = 'Hs6Df3Gk1Lz8Xc5Vb2Nm';

/** What a webhook would store, by place and line. */
const valuesIn = (parsed: Parsed | undefined): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    (parsed?.findings ?? []).map(({ place, line, record }) => [
      `${place}:${line}`,
      record?.reveal()['value'],
    ]),
  );

describe('a .env file', () => {
  const inShop = (text: string) => inEnvFile(text, 'shop');

  it.each([
    ['plain', `A_TOKEN=${SECRET}`, SECRET],
    ['with white space', `  A_TOKEN =  ${SECRET}  `, SECRET],
    ['exported', `export A_TOKEN=${SECRET}`, SECRET],
    ['with a comment', `A_TOKEN=${SECRET} # comment`, SECRET],
    ['in double quotes', `A_TOKEN="${SECRET} # no comment"`, `${SECRET} # no comment`],
    ['in single quotes', `A_TOKEN='${SECRET} "x"'`, `${SECRET} "x"`],
    ['of two lines', `A_TOKEN="${SECRET}\nB_TOKEN=within"`, `${SECRET}\nB_TOKEN=within`],
    ['with line breaks as \\n', `A_TOKEN="${SECRET}\\nmore"`, `${SECRET}\nmore`],
    ['with an equals sign', `A_TOKEN=${SECRET}==`, `${SECRET}==`],
  ])('has a value %s', (_, text, value) => {
    expect(valuesIn(inShop(text))).toEqual({ 'A_TOKEN:1': value });
  });

  it('counts the last of two assignments, at its line', () => {
    expect(valuesIn(inShop(`A_TOKEN=${SECRET}\r\n\r\nA_TOKEN=${OTHER}\r\n`))).toEqual({ 'A_TOKEN:3': OTHER });
  });

  it('is not expanded: a reference is counted and left out', () => {
    const parsed = inShop(
      `A_TOKEN=$B_TOKEN\nC_TOKEN=\${B_TOKEN}\nB_TOKEN=${SECRET}\n__proto__=x\n${SECRET}\n`,
    );
    expect(valuesIn(parsed)).toEqual({ 'B_TOKEN:3': SECRET });
    expect(parsed.findings[0]).toMatchObject({ called: 'shop-B_TOKEN', bytes: 20, tokenType: 'PlainText' });
  });
});

describe('a .netrc', () => {
  it.each([
    ['on one line', `machine h.example login ada password ${SECRET}`, { 'machine h.example:1': SECRET }],
    ['over lines', `machine h.example\n\tlogin ada\n\tpassword ${SECRET}`, { 'machine h.example:3': SECRET }],
    ['in quotes', `machine h.example password "${SECRET} \\"x"`, { 'machine h.example:1': `${SECRET} "x` }],
    ['with a # in it', `machine h.example password #${SECRET}`, { 'machine h.example:1': `#${SECRET}` }],
    [
      'of an account',
      `machine h.example account password password ${SECRET}`,
      { 'machine h.example:1': SECRET },
    ],
    [
      'as a login name',
      `machine h.example login ${SECRET} password x-oauth-basic`,
      { 'machine h.example:1': SECRET },
    ],
    ['of everybody else', `default login ada password ${SECRET}`, { 'default:1': SECRET }],
    ['without a machine', `password ${SECRET}`, {}],
    ['in a comment', `# machine h.example password ${SECRET}`, {}],
    ['in a macro', `macdef init\nmachine h.example password ${SECRET}\n`, {}],
    [
      'behind a macro',
      `macdef x\nput\n\nmachine h.example password ${SECRET}`,
      { 'machine h.example:4': SECRET },
    ],
    ['that is cut off', 'machine h.example password', {}],
  ])('has a password %s', (_, text, values) => {
    expect(valuesIn(inNetrc(text))).toEqual(values);
  });

  it('names the host of a password, unless it is too short for a proxy', () => {
    const { findings } = inNetrc(`machine H.example password ${SECRET}\nmachine i.example password short`);
    expect(findings.map(({ hosts }) => hosts)).toEqual([['h.example'], []]);
  });
});

describe('an .npmrc', () => {
  it.each([
    [`//r.example/:_authToken=${SECRET}`, { '//r.example/:_authToken:1': SECRET }],
    [`; comment\n//r.example/a/b/:_password = "${SECRET}" ; why`, { '//r.example/a/b/:_password:2': SECRET }],
    [`//r.example/:_authToken=\${NPM_TOKEN}`, {}],
    ['//r.example/:username=ada\nfund=false\nalways-auth=true', {}],
  ])('%j', (text, values) => {
    expect(valuesIn(inNpmrc(text))).toEqual(values);
  });

  it('without an address is for the registry of the file', () => {
    const [first] = inNpmrc(`registry=https://own.example:8443/npm/\n_authToken=${SECRET}`).findings;
    expect(first).toMatchObject({ called: 'npm-own.example:8443', hosts: ['own.example:8443'] });
  });
});

describe('the credentials of AWS', () => {
  const KEYS = `aws_access_key_id = AKIAQ7W3E9R5T1Y8U2I6\naws_secret_access_key = ${SECRET}/+x # mine\n`;

  it('are a key pair for each profile, with its region', () => {
    const { findings } = inAwsCredentials(`[default]\n${KEYS}[ops]\nregion=eu-central-1\n${KEYS}`);
    expect(findings.map(({ called, line, record }) => [called, line, record?.reveal()])).toEqual([
      ['aws-default', 3, { minter: expect.objectContaining({ secretAccessKey: `${SECRET}/+x` }) }],
      ['aws-ops', 7, { minter: expect.objectContaining({ type: 'aws-sts', region: 'eu-central-1' }) }],
    ]);
  });

  it('of a session, and profiles without keys, are left out', () => {
    const text = `[a]\n${KEYS}aws_session_token = x\n[b]\ncredential_process = x\n[c]\naws_secret_access_key=${SECRET}`;
    expect(inAwsCredentials(text)).toEqual({ findings: [], skipped: 2 });
  });
});

describe('the hosts of gh', () => {
  it('are each with their API among the allowed hosts', () => {
    const of = (host: string) =>
      inGhHosts(`${host}:\n  oauth_token: ${SECRET}\n`)?.findings.map(({ hosts }) => hosts);
    expect(of('github.com')).toEqual([['api.github.com', 'github.com']]);
    expect(of('acme.ghe.com')).toEqual([['api.acme.ghe.com', 'acme.ghe.com']]);
    expect(of('github.example.com')).toEqual([['github.example.com']]);
  });

  it('whose tokens are in the keychain have none here', () => {
    expect(inGhHosts('github.com:\n  user: ada\n  users:\n    ada:\n')).toEqual({ findings: [], skipped: 0 });
    expect(inGhHosts('')).toEqual({ findings: [], skipped: 0 });
  });
});

describe('a server of an MCP configuration', () => {
  const found = (server: object) => inMcpConfig(JSON.stringify({ mcpServers: { web: server } }))?.findings;
  const url = 'https://mcp.example/mcp?v=2';

  it.each([
    ['Authorization', `Bearer ${SECRET}`, 'Bearer ${TOKEN}', 'web'],
    ['authorization', SECRET, '${TOKEN}', 'web'],
    ['Authorization', `Basic YWRhOlZiN21RMnhLOXBMZDRSdFk4d1pj`, 'Basic ${TOKEN}', 'web'],
    ['X-Api-Key', SECRET, '${TOKEN}', 'web-X-Api-Key'],
  ])('moves to a proxy with its header %s: %s', (header, text, template, called) => {
    expect(found({ url, headers: { 'X-Team': 'shop', [header]: text } })).toMatchObject([
      {
        called,
        hosts: ['mcp.example'],
        server: { url, header, headerTemplates: { 'X-Team': 'shop', [header]: template } },
      },
    ]);
  });

  it.each<readonly [string, { headers?: object; [member: string]: unknown }]>([
    ['that uses the older transport', { type: 'sse', url }],
    ['whose address is filled in by the client', { url: 'https://${HOST}/mcp' }],
    ['whose address has a user in it', { url: 'https://ada@mcp.example/mcp' }],
    ['without an address', { command: 'x' }],
    ['with a header that the client fills in', { url, headers: { 'X-Team': '${env:TEAM}' } }],
    ['with a header that no proxy may set', { url, headers: { Host: 'other.example' } }],
    ['with two secret headers', { url, headers: { 'X-Api-Key': OTHER } }],
    ['with a secret in its address', { url: `${url}&api_key=${OTHER}` }],
  ])('%s stays where it is', (_, { headers = {}, ...server }) => {
    const all = found({ ...server, headers: { ...headers, Authorization: `Bearer ${SECRET}` } });
    expect(all?.length).toBeGreaterThan(0);
    expect(all?.map((each) => each.server)).toEqual(all?.map(() => undefined));
  });

  it('with a secret that is too short for a proxy stays where it is', () => {
    expect(found({ url, headers: { Authorization: 'Bearer short' } })).toMatchObject([
      { server: undefined, hosts: [] },
    ]);
  });

  it.each(['Bearer ${TOKEN}', '${input:token}', 'Bearer <token>', ''])('has no secret in %j', (text) => {
    expect(found({ url, headers: { Authorization: text } })).toEqual([]);
  });

  it('that has a key of svault needs nothing', () => {
    const key = `mcp_${'A'.repeat(43)}`;
    expect(found({ url, headers: { Authorization: `Bearer ${key}` } })).toMatchObject([
      { record: undefined },
    ]);
  });
});
