import { expect, test } from 'vitest';
import { authorityFrom, coveredHosts, routeOf } from './covered-hosts.ts';

const proxy = (name: string, upstreamUrl: string) => ({
  ...{ name, upstreamUrl, address: 'https://svault.example.com/api/proxy/http', key: `mcp_${name}` },
});

test.each([
  ['api.example.com:443', 'api.example.com', 443],
  ['API.Example.COM:8443', 'api.example.com', 8443],
  ['bücher.example:80', 'xn--bcher-kva.example', 80],
  ['127.1:443', '127.0.0.1', 443],
  ['[::1]:443', '::1', 443],
  ['[0:0::1]:443', '::1', 443],
])('the authority %j is the host %j at port %i', (text, hostname, port) => {
  expect(authorityFrom(text)).toEqual({ hostname, port });
});

test.each([
  '',
  'host',
  'host:',
  ':443',
  'host:0x1',
  'host:65536',
  'a b:1',
  'u:p@host:443',
  'host:443/',
  'host\\:1',
])('%j is no authority', (text) => expect(authorityFrom(text)).toBeUndefined());

test('proxies are found by host and port, and the longest base below which a target is', () => {
  const hosts = coveredHosts([
    proxy('all', 'https://api.example.com'),
    proxy('v3', 'https://API.example.com:443/v3/'),
    proxy('plain', 'http://127.0.0.1:8080/a'),
    proxy('six', 'https://[::1]/'),
  ]);
  expect([...hosts.keys()]).toEqual(['api.example.com:443', '127.0.0.1:8080', '[::1]:443']);
  expect(hosts.get('127.0.0.1:8080')).toMatchObject({ scheme: 'http', hostname: '127.0.0.1', port: 8080 });
  const host = hosts.get('api.example.com:443');
  const names = ['/', '/v3', '/v3/x', '/v3?x', '/v33', '/V3', '?x', '*', 'v3'].map(
    (target) => host && routeOf(host, target)?.name,
  );
  expect(names).toEqual(['all', 'v3', 'v3', 'v3', 'all', 'all', 'all', undefined, undefined]);
});
