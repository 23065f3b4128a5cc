import { describe, expect, it } from 'vitest';
import {
  type DestinationProblem,
  callFailureText,
  proxyFailureSchema,
  proxyFailureText,
} from './proxy-failure.ts';

const said = (
  problem: DestinationProblem,
  upstreamUrl: string,
  serviceName = 'slack',
  headerTemplates: Readonly<Record<string, string>> = { Authorization: 'Bearer ${TOKEN}', 'x-plain': '1' },
): string => proxyFailureText(problem, { upstreamUrl, serviceName, headerTemplates });
const HOST = { cause: 'host' } as const;

describe('the text of a proxied call that the webhook refused', () => {
  it('names the host that is not allowed and the command that allows it', () => {
    expect(said(HOST, 'https://api.test:8443/a?b=c')).toBe(
      'Host `api.test:8443` is not an allowed host of `slack`. Its owner runs `svault set slack --allow-host api.test:8443 --allow-header authorization`, which replaces the allowed hosts and asks for the secret again.',
    );
    expect(said(HOST, 'http://127.0.0.1:3901/mcp')).toBe(
      'Host `127.0.0.1:3901` is called by plain http, which the allowed hosts of `slack` do not include. Its owner runs `svault set slack --allow-host http://127.0.0.1:3901 --allow-header authorization`, which replaces the allowed hosts and asks for the secret again.',
    );
  });

  it('names the header that is not allowed where the webhook says it, and else all with the credential', () => {
    const headers = { 'X-Key': '${TOKEN}', 'x-other': '$<TOKEN>', 'x-plain': '1' };
    const command =
      'Its owner runs `svault set slack --allow-host api.test --allow-header x-key --allow-header x-other`, which replaces the allowed hosts and asks for the secret again.';
    const of = (header?: string) => said({ cause: 'header', header }, 'https://api.test/', 'slack', headers);
    expect(of('X-KEY')).toBe(`Header \`x-key\` is not an allowed header of \`slack\`. ${command}`);
    expect(of()).toBe(`Header \`x-key\` or \`x-other\` is not an allowed header of \`slack\`. ${command}`);
    expect(of('<b>of a hostile webhook</b>')).toBe(of());
  });

  it.each([
    ['https://$(id)/', 'slack', 'authorization'],
    ['https://a;id/', 'slack', 'authorization'],
    ['https://api.test/', 'slack; id', 'authorization'],
    ['https://api.test/', '--help', 'authorization'],
    ['https://api.test/', '$(id)', 'authorization'],
    ['https://api.test/', 'slack', '`id`'],
  ])('has no command that a shell could misread: %s of %s in %s', (url, name, header) => {
    for (const problem of [HOST, { cause: 'header', header }] as const)
      expect(said(problem, url, name, { [header]: '${TOKEN}' })).not.toMatch(/svault|id/);
  });
});

describe('the text of a refused call of an HTTP API', () => {
  const of = (cause: string, more: object = {}): string =>
    proxyFailureText(proxyFailureSchema.parse({ cause, ...more }), {
      upstreamUrl: 'https://maps.test/v1',
      serviceName: 'maps',
      headerTemplates: {},
      queryTemplates: { key: '${TOKEN}', v: '1' },
    });

  it('names the parameter that is not allowed and the command that allows it', () => {
    const text =
      'Parameter `key` is not an allowed query parameter of `maps`. Its owner runs `svault set maps --allow-host maps.test --allow-query key`, which replaces the allowed hosts and asks for the secret again.';
    expect([
      of('parameter', { parameter: 'key' }),
      of('parameter', { parameter: '<b>' }),
      of('parameter'),
    ]).toEqual([text, text, text]);
  });

  it('says what is wrong with the request, or with the webhook’s configuration', () => {
    expect(of('query_parameter')).toContain('names the parameter that the credential goes into');
    expect(of('path_dot_segment')).toContain('dot segment');
    expect(of('kind')).toContain('another kind of request');
    expect(of('redirect')).toBe(
      'The webhook could not follow a redirect of maps.test: it leads too far, to an address that may not be called, or to no answer.',
    );
  });
});

describe('the text of a call that failed', () => {
  it('names the host, without user, path and query, and why', () => {
    expect(callFailureText('dns', 'https://api.test/mcp?a=b')).toBe(
      'The webhook could not reach api.test: its name did not resolve.',
    );
    expect(callFailureText('timeout', 'http://[::1]:81/', 'control plane')).toBe(
      'The control plane got no answer from [::1]:81 in time; try again later.',
    );
  });

  it('names the setting and its operator where egress rules forbid the call', () => {
    expect(callFailureText('address', 'http://192.168.1.5:3901/')).toBe(
      'The webhook may not call 192.168.1.5:3901: its address is not public. The operator of the webhook can allow it by SV_EGRESS_ALLOW.',
    );
  });
});

it('a cause that is none of the protocol is read as no cause', () => {
  for (const cause of ['toString', 'bad', '', null, ['dns']])
    expect(proxyFailureSchema.safeParse({ cause }).success).toBe(false);
  expect(proxyFailureSchema.parse({ code: 'UPSTREAM_ERROR', cause: 'dns' })).toEqual({ cause: 'dns' });
});
