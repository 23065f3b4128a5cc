import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { tempDir } from '@svault/test-kit/temp-dir';
import { NO_COMPOSE, composeReads, hasCompose } from './compose-reads.ts';
import { composeProject, repositoryProject } from '../src/webhook-project/compose-project.ts';
import { type ProjectValues, readEnvFile } from '../src/webhook-project/env-file.ts';
import { madeSecrets, privateFolders, secretPaths } from '../src/webhook-project/project-secrets.ts';
import { TUNNEL_METHODS, type TunnelMethod } from '../src/webhook-project/tunnel-methods.ts';
import { TUNNELS } from '../src/webhook-project/tunnels/tunnels.ts';

const dir = tempDir();
afterAll(() => dir.remove());

const valuesFor = (method: TunnelMethod): ProjectValues => ({
  webhookUrl: method === 'tailscale' ? 'https://hook.tail12.ts.net' : 'https://hook.example.org',
  serviceUrl: 'https://svault.example.org/base',
  projectName: 'svault-webhook-0a1b2c3d',
  owner: { uid: 1000, gid: 1001 },
  more: { SV_EGRESS_ALLOW: '10.0.0.0/8' },
});

const textOf = (method: TunnelMethod, path: string): string => {
  const file = composeProject(method, valuesFor(method)).find((each) => each.path === path);
  if (file === undefined) throw new Error(`there is no ${path}`);
  return file.text;
};

function written(method: TunnelMethod): string {
  const folder = join(dir.path, method);
  const files = composeProject(method, valuesFor(method));
  const secrets = secretPaths(method).map((path) => ({ path, text: 'x\n' }));
  for (const { path, text } of [...files, ...secrets]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

describe.each(TUNNEL_METHODS)('a project with %s', (method) => {
  it('runs the same services as the repository’s, from an existing image', () => {
    const ours = repositoryProject(method).find(({ path }) => path === 'compose.yaml')?.text ?? '';
    const services = (text: string): string => text.slice(text.indexOf('x-hardened'));
    const build = / {4}build:\n {6}context: .*\n {6}dockerfile: .*\n/;
    expect(services(ours)).toMatch(build);
    expect(services(textOf(method, 'compose.yaml'))).toBe(services(ours).replace(build, ''));
    const built = composeProject(method, { ...valuesFor(method), more: { SVAULT_SOURCES: '/srv/svault' } });
    const context = /context: \$\{SVAULT_SOURCES:\?set SVAULT_SOURCES in .env [^}]*\}/;
    expect(services(built[0]?.text ?? '').replace(context, 'context: ../../..')).toBe(services(ours));
  });

  it('does not start without its required settings, and says where to set them', () => {
    for (const name of ['SV_WEBHOOK_URL', 'SV_WEBHOOK_SERVICE_URL', 'SVAULT_UID', 'SVAULT_GID'])
      expect(textOf(method, 'compose.yaml')).toContain(`\${${name}:?set ${name} in .env`);
  });

  it('mounts secrets as files from its folder, and has none in its other files', () => {
    const text = textOf(method, 'compose.yaml');
    for (const path of secretPaths(method)) {
      expect(text).toContain(`file: ./${path}\n`);
      expect(path).toMatch(/^secrets\//);
    }
    expect(textOf(method, '.env')).not.toMatch(/^[A-Z_]*(?:TOKEN|KEY|SECRET|PASSPHRASE)=/m);
    for (const folder of privateFolders(method))
      expect(textOf(method, '.gitignore')).toContain(`/${folder}/\n`);
  });

  it('parses its own .env', () => {
    const values = readEnvFile(textOf(method, '.env'));
    expect(Object.fromEntries(values)).toEqual({
      SVAULT_TUNNEL: method,
      SV_WEBHOOK_URL: valuesFor(method).webhookUrl,
      SV_WEBHOOK_SERVICE_URL: 'https://svault.example.org/base',
      COMPOSE_PROJECT_NAME: 'svault-webhook-0a1b2c3d',
      SVAULT_UID: '1000',
      SVAULT_GID: '1001',
      SV_EGRESS_ALLOW: '10.0.0.0/8',
      ...(method === 'tailscale' && { TS_HOSTNAME: 'hook' }),
    });
  });

  it('says who terminates TLS and what they could see, and how to start, bind, stop, back up and update', () => {
    const readme = textOf(method, 'README.md');
    expect(readme).toMatch(/## Who terminates TLS\n\n\*\*.*(?:terminates TLS|TLS is terminated here)/);
    expect(readme.replaceAll('\n', ' ')).toContain('who learns it can act as the control plane');
    for (const said of [
      'svault webhook up',
      'svault webhook bind',
      'svault webhook down',
      'kill switch',
      'backup /backups/',
      'init --force',
    ])
      expect(readme).toContain(said);
    for (const path of secretPaths(method)) expect(readme).toContain(`\`${path}\``);
  });
});

it.skipIf(!hasCompose)(`is not started by compose where a setting is missing${NO_COMPOSE}`, () => {
  const folder = written('custom');
  writeFileSync(join(folder, '.env'), textOf('custom', '.env').replace(/^SV_WEBHOOK_URL=.*$/m, ''));
  const [status, said] = composeReads(folder);
  expect(status).not.toBe(0);
  expect(said).toContain('set SV_WEBHOOK_URL in .env');
});

it('makes a root key of 32 bytes and a set-up token of more than 128 bits, other ones each time', () => {
  const [one, two] = [madeSecrets(), madeSecrets()];
  const texts = [...one, ...two].map(({ secret }) => secret);
  expect(new Set(texts).size).toBe(4);
  for (const text of texts) {
    expect(text).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
    expect(Buffer.from(text, 'base64url')).toHaveLength(32);
  }
});

it('publishes exactly the node’s own name with Tailscale Funnel', () => {
  const serve = JSON.parse(textOf('tailscale', 'tailscale/serve.json')) as object;
  expect(serve).toEqual({
    TCP: { '443': { HTTPS: true } },
    Web: { '${TS_CERT_DOMAIN}:443': { Handlers: { '/': { Proxy: 'http://webhook:8090' } } } },
    AllowFunnel: { '${TS_CERT_DOMAIN}:443': true },
  });
});

it('ngrok’s agent stores no requests, and accepts no remote commands', () => {
  const text = TUNNELS.ngrok.secret?.fileText('2abc"def_ghijklmnop') ?? '';
  expect(text).toContain('authtoken: "2abc\\"def_ghijklmnop"\n');
  for (const line of ['inspect_db_size: -1', 'remote_management: false', 'web_addr: 127.0.0.1:4040'])
    expect(text).toContain(`  ${line}\n`);
});
