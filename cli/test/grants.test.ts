import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';
import type { Outcome } from './command-line.ts';

let people: PairAndPeople;

beforeAll(async () => {
  people = await pairAndPeople();
});
afterAll(() => people.close());

const svault = (...args: string[]): Promise<Outcome> => people.admin.svault(args);

async function services(agent: string): Promise<readonly string[]> {
  const { out } = await svault('grants', 'list', agent, '--format', 'name');
  return out.split('\n').filter((name) => name !== '');
}

test('grants are added, listed and removed, several at once', async () => {
  await people.agent('ann');
  expect(await svault('gr', 'add', 'ann', 'github', 'npm', 'github', '--refresh-policy', 'auto')).toEqual({
    code: 0,
    out: '',
    err: 'ann may have github until it is revoked\nann may have npm until it is revoked\n',
  });
  const { out } = await svault('grants', 'list', 'ann');
  expect(out).toMatch(/^SERVICE +STATUS +ENDS +REFRESH +MADE\ngithub +active +when revoked +auto +.+\nnpm /);
  expect(await svault('grants', 'rm', 'ann', 'github', 'npm')).toEqual({
    code: 0,
    out: '',
    err: 'ann may no longer have github\nann may no longer have npm\n',
  });
  expect(await svault('grants', 'list', 'ann')).toEqual({
    code: 0,
    out: '',
    err: 'ann is granted nothing: svault grants add ann SERVICE\n',
  });
});

test('grant is the same as grants add', async () => {
  await people.agent('short');
  expect(await svault('grant', 'short', 'github')).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^short may have github/) as unknown,
  });
});

describe('--expires', () => {
  test.each([
    ['60m', 3_600],
    ['1h', 3_600],
    ['1d12h', 36 * 3_600],
    ['30d', 30 * 24 * 3_600],
  ])('%s', async (text, seconds) => {
    const agent = await people.agent(`until-${text}`);
    const { code, out } = await svault(
      'grants',
      'add',
      agent.id,
      'github',
      '--expires',
      text,
      '--format',
      'json',
    );
    expect(code).toBe(0);
    const [grant] = JSON.parse(out) as [{ createdAt: string; grantExpiresAt: string }];
    expect(Date.parse(grant.grantExpiresAt) - Date.parse(grant.createdAt)).toBe(seconds * 1_000);
  });

  test.each([
    ['59m', 'outside'],
    ['721h', 'outside'],
    ['0d', 'outside'],
    ['99999d', 'no duration'],
    ['1', 'no duration'],
    ['', 'no duration'],
    ['1h1d', 'no duration'],
    ['-1h', 'no duration'],
    ['1.5h', 'no duration'],
  ])('not %s: exit 2, and nothing is asked', async (text, said) => {
    const { code, out, err } = await svault(
      'grants',
      'add',
      'nobody',
      'github',
      `--expires=${text}`,
      '--debug',
    );
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
    expect(err).not.toContain('> GET');
  });
});

describe('several of which some fail', () => {
  test('the others are made, each is said, and the exit code is of the worst', async () => {
    await people.agent('bea', 'npm');
    const { code, out, err } = await svault(
      'grants',
      'add',
      'bea',
      'github',
      'npm',
      'pypi',
      '--format',
      'name',
    );
    expect({ code, out }).toEqual({ code: 1, out: 'github\npypi\n' });
    expect(err).toMatch(
      /^bea may have github .*\nerror: npm: This agent has a grant .* \[CONFLICT: svault explain CONFLICT\]\nbea may have pypi .*\nerror: 1 of 3 failed\n$/,
    );
    expect(await services('bea')).toEqual(['github', 'npm', 'pypi']);
  });

  test('one that is not there is named', async () => {
    await people.agent('cy', 'npm');
    expect(await svault('grants', 'rm', 'cy', 'github')).toEqual({
      code: 4,
      out: '',
      err: 'error: cy has no grant for github\n',
    });
    const { code, err } = await svault('grants', 'rm', 'cy', 'github', 'npm');
    expect({ code, err }).toEqual({
      code: 4,
      err: 'error: github: cy has no grant for github\ncy may no longer have npm\nerror: 1 of 2 failed\n',
    });
    expect(await services('cy')).toEqual([]);
  });

  test('what would refuse the others too leaves them alone', async () => {
    await people.agent('di');
    await people.pair.admin.call('POST', '/api/vault/lock');
    try {
      const { code, err } = await svault('grants', 'add', 'di', 'github', 'npm', 'pypi');
      expect(code).toBe(5);
      expect(err).toMatch(
        /^error: github: .* \[VAULT_LOCKED: .*\]\nnot tried: npm, pypi\nerror: 1 of 3 failed\n$/,
      );
    } finally {
      await people.pair.admin.call('POST', '/api/vault/unlock');
    }
  });
});

test('Ctrl-C leaves the rest alone, and what was done is printed', async () => {
  const interruption = new AbortController();
  const grant = {
    id: 'grt_1',
    serviceName: 'github',
    status: 'active',
    grantExpiresAt: null,
    refreshPolicy: 'none',
    sourceGroupId: null,
    createdAt: '2026-11-20T12:00:00.000Z',
  };
  let posts = 0;
  await using service = createServer(({ method }, response) => {
    if (method === 'GET') return response.end(JSON.stringify({ items: [{ id: 'agt_1', name: 'kim' }] }));
    posts += 1;
    if (posts === 1) return response.writeHead(201).end(JSON.stringify(grant));
    return interruption.abort();
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  const SVAULT_BASE_URL = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  expect(
    await people.admin.svault(['grants', 'add', 'kim', 'github', 'npm', 'pypi', '--format', 'name'], {
      env: { SVAULT_BASE_URL },
      signal: interruption.signal,
    }),
  ).toEqual({ code: 130, out: 'github\n', err: 'kim may have github until it is revoked\n' });
  expect(posts).toBe(2);
});

test('--dry-run shows each request and sends none', async () => {
  await people.agent('eve', 'kept');
  const { code, out, err } = await svault(
    'grants',
    'rm',
    'eve',
    'kept',
    'sweet & sour',
    '--dry-run',
    '--format',
    'json',
  );
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(
    ['kept', 'sweet%20%26%20sour'].map((name) => ({
      method: 'DELETE',
      url: `${people.pair.controlPlaneUrl()}/api/agents/eve/grants/${name}`,
    })),
  );
  expect(await services('eve')).toEqual(['kept']);
});
