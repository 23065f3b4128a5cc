import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { verifySignature } from '@svault/test-kit/aws-verifier';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SECRET } from './covered-api.ts';
import { type Programs, type Ran, expectSuccess, programs, pythonOfPrograms, shown } from './programs.ts';

// AWS's command line and boto3 against an emulator, behind a check of each signature.

const ACCESS_KEY = 'AKIAIOSFODNN7EXAMPLE';
const REGION = 'us-east-1';
const SETTINGS = { AWS_DEFAULT_REGION: REGION, AWS_EC2_METADATA_DISABLED: 'true' };
/** Above the threshold of the configuration: it goes in parts. */
const FILE = randomBytes(10_000_000);
const BOTO3 = `
import sys, boto3
from boto3.s3.transfer import TransferConfig
s3 = boto3.client('s3')
pieces = TransferConfig(multipart_threshold=7 << 20, multipart_chunksize=7 << 20)
s3.upload_file('report', 'bucket', 'of boto3', Config=pieces)
print(s3.get_object(Bucket='bucket', Key='of boto3', Range='bytes=5-99')['Body'].read().hex())
s3.download_file('bucket', 'of boto3', 'again', Config=pieces)
print([each['Key'] for page in s3.get_paginator('list_objects_v2').paginate(Bucket='bucket', PaginationConfig={'PageSize': 1}) for each in page['Contents']])
`;

let api: Programs;
let emulator: ChildProcess;
let emulatorPort: number;
let aws: readonly [string, ...string[]];
let python: string;
/** Of a proxy that signs for STS. */
let stsKey: string;

/** What AWS does: it verifies the signature, over the body as well. */
async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { method = '', url = '', headers } = req;
  const body = await buffer(req);
  const { holds, accessKeyId } = verifySignature({ method, url, headers, body }, SECRET);
  if (!holds || accessKeyId !== ACCESS_KEY) return void res.writeHead(403).end('SignatureDoesNotMatch');
  const call = request({ port: emulatorPort, host: '127.0.0.1', method, path: url, headers, agent: false });
  call.end(body);
  const [got] = (await once(call, 'response')) as [IncomingMessage];
  got.pipe(res.writeHead(got.statusCode ?? 500, got.headers));
}

beforeAll(async () => {
  python = await pythonOfPrograms();
  aws = [python, '-m', 'awscli'];
  emulator = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  emulator.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  let port: string | undefined;
  while (port === undefined) {
    await once(emulator.stderr!, 'data');
    [, port] = /Running on http:\/\/127\.0\.0\.1:(\d+)/.exec(said) ?? [];
  }
  emulatorPort = Number(port);
  api = await programs({
    secret: JSON.stringify({ Version: 1, AccessKeyId: ACCESS_KEY, SecretAccessKey: SECRET }),
    proxy: { upstreamAuthType: 'aws_sigv4', region: REGION, service: 's3' },
    isAuthorized: () => true,
    api: answer,
  });
  const made = await api.people.pair.admin.call<{ key: string }>('POST', '/api/proxies', {
    ...{ name: 'sts', kind: 'http', upstreamUrl: api.origin, serviceName: 'api', agentId: api.agent.id },
    ...{ upstreamAuthType: 'aws_sigv4', region: REGION, service: 'sts' },
  });
  stsKey = made.key;
  const pieces = 's3 =\n  multipart_threshold = 7MB\n  multipart_chunksize = 7MB\n';
  // The check is of what is signed whole.
  const signedWhole = '  payload_signing_enabled = true\nrequest_checksum_calculation = when_required\n';
  for (const home of Object.values(api.homes)) {
    mkdirSync(join(home, '.aws'));
    writeFileSync(join(home, '.aws/config'), `[default]\n${pieces}`);
    writeFileSync(join(home, 'report'), FILE);
    writeFileSync(join(home, 'report.pdf'), FILE.subarray(0, 100_000));
  }
  writeFileSync(join(api.homes.direct, '.aws/config'), `[default]\n${pieces}${signedWhole}`);
});
afterAll(async () => {
  emulator.kill();
  await api.close();
});

type Command = readonly [string, ...string[]];

const direct = (...command: Command): Promise<Ran> =>
  api.direct(command, { env: { ...SETTINGS, ...endpoint(api.origin), ...keys(ACCESS_KEY, SECRET) } });
const byBaseUrl = (key: string, ...command: Command): Promise<Ran> =>
  api.byBaseUrl(command, { env: { ...SETTINGS, ...endpoint(api.base), ...keys(key, 'unused') } });
/** Placeholders for keys, without which AWS's clients ask nothing. */
const inRun = (proxy: string, ...command: Command): Promise<Ran> => {
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  const flags = ['--quiet', '--proxy', proxy, ...names.flatMap((name) => ['--placeholder', name])];
  return api.inRun(command, { flags, env: { ...SETTINGS, ...endpoint(api.origin) } });
};
const endpoint = (url: string) => ({ AWS_ENDPOINT_URL: url });
const keys = (id: string, secret: string) => ({ AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret });

test('aws s3 cp moves files up and down, in parts too, and AWS accepts each signature', async () => {
  expectSuccess(await direct(...aws, 's3', 'mb', 's3://bucket'));
  const script = shown('aws.md', 'export AWS_ACCESS_KEY_ID', {
    'mcp_…': api.key,
    'https://svault.example.org': new URL(api.base).origin,
    'aws --endpoint-url': '"$@" --endpoint-url',
  });
  expectSuccess(await api.byBaseUrl(['sh', '-ec', script, 'sh', ...aws], { env: SETTINGS }));
  expectSuccess(await direct(...aws, 's3', 'cp', 's3://bucket/report.pdf', 'back.pdf'));
  expect(readFileSync(join(api.homes.direct, 'back.pdf')).equals(FILE.subarray(0, 100_000))).toBe(true);

  for (const [way, run] of [
    ['base', (...command: Command) => byBaseUrl(api.key, ...command)],
    ['run', (...command: Command) => inRun('api', ...command)],
  ] as const) {
    expectSuccess(await run(...aws, 's3', 'cp', '--no-progress', 'report', `s3://bucket/by ${way}`));
    expectSuccess(await direct(...aws, 's3', 'cp', `s3://bucket/by ${way}`, way));
    expect(readFileSync(join(api.homes.direct, way)).equals(FILE)).toBe(true);
    expectSuccess(await run(...aws, 's3', 'cp', '--no-progress', `s3://bucket/by ${way}`, 'back'));
    expect(readFileSync(join(api.homes[way], 'back')).equals(FILE)).toBe(true);
  }
});

test('aws s3 ls in svault run, as the guide has it, lists what it does with the keys', async () => {
  const page = shown('aws.md', 'svault run', { 'svault run ': '', ' -- aws ': ' -- ' });
  const [flags = [], command = []] = page.split(' -- ').map((part) => part.trim().split(' '));
  const own = await direct(...aws, ...command);
  expectSuccess(own);
  expect(own.out.toString()).toContain('report.pdf');
  // The proxy of STS in this test has the same base URL.
  const settings = {
    flags: ['--quiet', '--proxy', 'api', ...flags],
    env: { ...SETTINGS, ...endpoint(api.origin) },
  };
  const ran = await api.inRun([...aws, ...command], settings);
  expectSuccess(ran);
  expect(ran.out.equals(own.out)).toBe(true);
});

test('boto3 sends and gets what it does with the keys', async () => {
  const command = [python, '-c', BOTO3] as const;
  const own = await direct(...command);
  expectSuccess(own);
  for (const ran of [await byBaseUrl(api.key, ...command), await inRun('api', ...command)]) {
    expectSuccess(ran);
    expect(ran.out.equals(own.out)).toBe(true);
  }
  for (const home of Object.values(api.homes))
    expect(readFileSync(join(home, 'again')).equals(FILE)).toBe(true);
});

test('aws sts get-caller-identity names the same caller', async () => {
  const command = [...aws, 'sts', 'get-caller-identity'] as const;
  const own = await direct(...command);
  expectSuccess(own);
  expect(JSON.parse(own.out.toString())).toHaveProperty('Arn');
  for (const ran of [await byBaseUrl(stsKey, ...command), await inRun('sts', ...command)]) {
    expectSuccess(ran);
    expect(ran.out.equals(own.out)).toBe(true);
  }
});
