import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { nodePackages } from '@svault/test-kit/foreign-packages';
import { mustRun } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SECRET } from './covered-api.ts';
import { type Programs, expectSuccess, programs, pythonOfPrograms, shown } from './programs.ts';

// Private registries, which want their token for the index and for each file.

const work = tempDir();
afterAll(() => work.remove());
const TEXT = randomBytes(50_000).toString('hex');

/** All files of a folder with their contents. */
const contents = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(folder.length), readFileSync(path, 'latin1')]),
  );

describe('npm', () => {
  const TARBALL = '/@acme/tools/-/tools-1.0.0.tgz';
  const published: unknown[] = [];
  let api: Programs;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    const folder = await nodePackages('npm@12.2.2');
    const bin = [join(folder, 'node_modules/.bin'), dirname(process.execPath), process.env['PATH']];
    env = { PATH: bin.join(delimiter), npm_config_fetch_retries: '0' };
    const packageAt = (version: string, folder: string): void => {
      mkdirSync(folder);
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: '@acme/tools', version }));
      writeFileSync(join(folder, 'index.js'), `module.exports = '${TEXT}';\n`);
    };
    packageAt('1.0.0', join(work.path, 'package'));
    packageAt('2.0.0', join(work.path, 'next'));
    const { stdout: tarball } = spawnSync('tar', ['-cz', '-C', work.path, 'package']);
    api = await programs({
      // Through proxies npm verifies no certificate of an IP address.
      hostname: 'localhost',
      api: async (req, res) => {
        if (req.method === 'PUT') published.push(await json(req));
        if (req.url === TARBALL) return void res.end(tarball);
        const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
        const dist = { integrity, tarball: api.origin + TARBALL };
        const versions = { '1.0.0': { name: '@acme/tools', version: '1.0.0', dist } };
        const packument = { name: '@acme/tools', 'dist-tags': { latest: '1.0.0' }, versions };
        const { status, body } =
          req.url === '/@acme%2ftools' ? { status: 200, body: packument } : { status: 404, body: {} };
        res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      },
    });
    for (const home of Object.values(api.homes))
      writeFileSync(join(home, 'package.json'), '{ "name": "project", "private": true }');
    for (const [way, token] of [
      ['direct', SECRET],
      ['run', '${NPM_TOKEN}'],
    ] as const) {
      const config = `registry=${api.origin}/\n//${new URL(api.origin).host}/:_authToken=${token}\n`;
      writeFileSync(join(api.homes[way], '.npmrc'), config);
    }
  });
  afterAll(() => api.close());

  /** What lies in the working folder of a way, the lock file included. */
  const installed = (way: 'direct' | 'base' | 'run') => ({
    modules: contents(join(api.homes[way], 'node_modules/@acme')),
    lock: readFileSync(join(api.homes[way], 'package-lock.json'), 'utf8'),
  });

  test('installs a package by base URL and in svault run as with the token', async () => {
    expectSuccess(await api.direct(['npm', 'install', '@acme/tools'], { env }));
    const direct = installed('direct');
    expect(direct.modules['/tools/index.js']).toContain(TEXT);

    const script = shown('http-apis.md', 'npm config', {
      'https://svault.example.org': new URL(api.base).origin,
      '//svault.example.org': `//${new URL(api.base).host}`,
      'npm.example.com': new URL(api.origin).hostname,
    });
    const ofKey = { env: { ...env, NPM_KEY: api.key } };
    expectSuccess(await api.byBaseUrl(['sh', '-ec', script], ofKey));
    expect(installed('base')).toEqual(direct);

    const flags = ['--placeholder', 'NPM_TOKEN'];
    expectSuccess(await api.inRun(['npm', 'install', '@acme/tools'], { flags, env }));
    expect(installed('run')).toEqual(direct);
  });

  test('publishes the same package each way', async () => {
    const publish = ['npm', 'publish', join(work.path, 'next')] as const;
    expectSuccess(await api.direct(publish, { env }));
    expectSuccess(await api.byBaseUrl(publish, { env }));
    expectSuccess(await api.inRun(publish, { flags: ['--placeholder', 'NPM_TOKEN'], env }));
    const attached = published.map((body) => (body as { _attachments: object })._attachments);
    expect(attached).toHaveLength(3);
    expect(attached[1]).toEqual(attached[0]);
    expect(attached[2]).toEqual(attached[0]);
  });
});

describe('pip', () => {
  const BASIC = `Basic ${Buffer.from(`__token__:${SECRET}`).toString('base64')}`;
  const WHEEL = 'acme_tools-1.0-py3-none-any.whl';
  const MAKE_WHEEL = `
import sys, zipfile
info = 'acme_tools-1.0.dist-info/'
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('acme_tools.py', 'TEXT = "' + sys.argv[2] + '"')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: acme-tools\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;
  // Not the machine's settings.
  const env = { PIP_CONFIG_FILE: '/dev/null', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  let api: Programs;
  let install: readonly [string, ...string[]];
  beforeAll(async () => {
    const python = await pythonOfPrograms();
    const wheelFile = join(work.path, WHEEL);
    await mustRun([python, '-c', MAKE_WHEEL, wheelFile, TEXT]);
    const wheel = readFileSync(wheelFile);
    const digest = createHash('sha256').update(wheel).digest('hex');
    install = [python, '-m', 'pip', 'install', '--no-compile', '--target', 'site', 'acme-tools'];
    api = await programs({
      header: ['authorization', 'Basic ${BASIC:__token__}'],
      isAuthorized: ({ authorization }) => authorization === BASIC,
      api: (req, res) => {
        if (req.url === `/files/${WHEEL}`) return void res.end(wheel);
        if (req.url !== '/simple/acme-tools/') return void res.writeHead(404).end();
        res.writeHead(200, { 'content-type': 'text/html' });
        res.end(`<!DOCTYPE html><a href="../../files/${WHEEL}#sha256=${digest}">${WHEEL}</a>`);
      },
    });
  });
  afterAll(() => api.close());

  test('installs a package by index URL and in svault run as with the token', async () => {
    const at = (address: string) => ({ ...env, PIP_INDEX_URL: address });
    const { host } = new URL(api.origin);
    expectSuccess(await api.direct(install, { env: at(`https://__token__:${SECRET}@${host}/simple`) }));
    const direct = contents(join(api.homes.direct, 'site'));
    expect(direct['/acme_tools.py']).toContain(TEXT);

    const script = shown('http-apis.md', 'export PIP_INDEX_URL', {
      'https://svault:': 'http://svault:',
      'svault.example.org': new URL(api.base).host,
      'pip install acme-tools': '"$@"',
    });
    const ofKey = { env: { ...env, PIP_KEY: api.key } };
    expectSuccess(await api.byBaseUrl(['sh', '-ec', script, 'sh', ...install], ofKey));
    expect(contents(join(api.homes.base, 'site'))).toEqual(direct);

    expectSuccess(await api.inRun(install, { env: at(`${api.origin}/simple`) }));
    expect(contents(join(api.homes.run, 'site'))).toEqual(direct);
  });
});
