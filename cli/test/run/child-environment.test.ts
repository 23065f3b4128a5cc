import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished, test } from 'vitest';
import { childEnvironment } from '../../src/commands/run/child-environment.ts';
import { systemRoots } from '../../src/commands/run/trust-store.ts';

const AUTHORITY = '-----BEGIN CERTIFICATE-----\nof the run\n-----END CERTIFICATE-----\n';

function place() {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const files = join(dir.path, 'files');
  mkdirSync(files);
  const written: string[] = [];
  const write = (name: string, text: string): string => {
    const path = join(files, name);
    writeFileSync(path, text, { flag: 'wx' });
    written.push(name);
    return path;
  };
  return { path: dir.path, written, write };
}

const environment = (
  env: Record<string, string>,
  { write }: ReturnType<typeof place>,
  placeholders: string[] = [],
) =>
  childEnvironment(env, {
    ...{ proxyUrl: 'http://svault:p@127.0.0.1:1', authority: AUTHORITY, placeholders, write },
  });

const textOf = (path: string | undefined): string => readFileSync(path ?? '', 'utf8');

test('what a command trusts by default stays trusted, beside the authority of the run, from two files', () => {
  const here = place();
  const { PATH, SSL_CERT_FILE, CURL_CA_BUNDLE, NODE_EXTRA_CA_CERTS, DENO_CERT, ...others } = environment(
    { PATH: '/bin' },
    here,
  );
  expect([PATH, SSL_CERT_FILE]).toEqual(['/bin', CURL_CA_BUNDLE]);
  expect(textOf(SSL_CERT_FILE)).toBe(`${systemRoots().trimEnd()}\n${AUTHORITY}`);
  expect([textOf(NODE_EXTRA_CA_CERTS), NODE_EXTRA_CA_CERTS]).toEqual([AUTHORITY, DENO_CERT]);
  expect(here.written).toHaveLength(2);
  for (const name of ['PIP_CERT', 'NPM_CONFIG_CAFILE', 'CARGO_HTTP_CAINFO'])
    expect(others).not.toHaveProperty(name);
});

test('a bundle that a variable names is what its program goes on to trust', () => {
  const here = place();
  const own = join(here.path, 'own.pem');
  writeFileSync(own, 'own roots');
  const env = { PIP_CERT: own, REQUESTS_CA_BUNDLE: own, NODE_EXTRA_CA_CERTS: own };
  const given = environment(env, here);
  for (const name of Object.keys(env)) expect(textOf(given[name])).toBe(`own roots\n${AUTHORITY}`);
  expect(textOf(given['CURL_CA_BUNDLE'])).not.toContain('own roots');
  expect(textOf(own)).toBe('own roots');
});

test('a bundle that cannot be read is said, by the name of its variable', () => {
  const missing = join(place().path, 'missing.pem');
  expect(() => environment({ CURL_CA_BUNDLE: missing }, place())).toThrow(/^CURL_CA_BUNDLE names a file/);
});

test('proxies and exceptions of the environment are replaced, and svault’s variables are not passed on', () => {
  const { SVAULT_KEY, SVAULT_CONTEXT, ...given } = environment(
    { SVAULT_KEY: 'k', SVAULT_CONTEXT: 'c', no_proxy: '*', https_proxy: 'http://other:1', ALL_PROXY: 'kept' },
    place(),
    ['GH_TOKEN'],
  );
  expect([SVAULT_KEY, SVAULT_CONTEXT]).toEqual([undefined, undefined]);
  const url = 'http://svault:p@127.0.0.1:1';
  expect(given).toMatchObject({
    ...{ HTTPS_PROXY: url, HTTP_PROXY: url, https_proxy: url, http_proxy: url, NO_PROXY: '', no_proxy: '' },
    ...{ NODE_USE_ENV_PROXY: '1', GH_TOKEN: 'svault-placeholder-gh-token', ALL_PROXY: 'kept' },
  });
});

test('a system that names no file of roots has those of Node', () => {
  for (const platform of ['linux', 'darwin'] as const)
    expect(systemRoots(platform)).toMatch(
      /^[^]*-----BEGIN CERTIFICATE-----[^]*-----END CERTIFICATE-----\s*$/,
    );
});
