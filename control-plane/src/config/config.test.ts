import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { SettingsError } from '@svault/server-kit/settings';
import { controlPlaneConfig } from './config.ts';

const BASE = { SV_BASE_URL: 'https://svault.example', SV_MASTER_KEY: 'A'.repeat(43) };

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    controlPlaneConfig(env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
};

test('defaults', () => {
  expect(controlPlaneConfig(BASE)).toMatchObject({
    baseUrl: 'https://svault.example',
    listen: { host: '127.0.0.1', port: 8080 },
    database: { kind: 'sqlite', path: '.svault/control-plane.db' },
    masterKeyNext: undefined,
    bootstrap: { email: undefined, adminKey: undefined },
    egressAllow: [],
    trustedProxies: [],
    redisUrl: undefined,
    limitOverrides: {},
    drainSeconds: 0,
    metricsListen: undefined,
    logLevel: 'info',
    logFormat: 'json',
    mcpAllowedOrigins: [],
  });
});

describe('SV_DATABASE_URL', () => {
  const databaseOf = (url: string) => controlPlaneConfig({ ...BASE, SV_DATABASE_URL: url }).database;

  test.each(['postgres://db/svault', 'postgresql://u:p%40ss@[::1]:5433/svault?sslmode=verify-full'])(
    'takes %s and shows it to nobody',
    (url) => {
      const database = databaseOf(url);
      expect(database.kind === 'postgres' && database.url.reveal()).toBe(url);
      expect(`${JSON.stringify(database)} ${inspect(database)}`).not.toContain('svault');
    },
  );
  test('takes the folder of a socket in place of a host', () => {
    expect(databaseOf('postgres:///svault?host=/run/postgresql').kind).toBe('postgres');
  });
  test.each([
    'sqlite:',
    'sqlite',
    'mysql://u:hunter2@db/svault',
    'postgres:svault',
    'postgres://u:hunter2@db',
    'postgres://u:hunter2@db/',
    'postgres:///svault',
    'postgres://u:hunter2%zz@db/svault',
    'postgres://u:hunter2@db:port/svault',
  ])('refuses %s without repeating it', (url) => {
    const problems = problemsOf({ ...BASE, SV_DATABASE_URL: url });
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain('hunter2');
  });
});

describe('SV_BASE_URL', () => {
  test.each([
    'https://a.example',
    'http://127.0.0.1:8080',
    'http://localhost:1',
    'http://[::1]:1',
    'http://a.localhost',
  ])('takes %s', (url) => {
    expect(problemsOf({ ...BASE, SV_BASE_URL: url })).toEqual([]);
  });
  test.each([
    'http://a.example',
    'http://10.0.0.1',
    'http://127.0.0.1.example',
    'https://a.example/path',
    'ftp://a',
  ])('refuses %s', (url) => {
    expect(problemsOf({ ...BASE, SV_BASE_URL: url })).toHaveLength(1);
  });
});

test('SV_GEOIP_DB is a path, and comes from no other file', () => {
  const path = '/var/lib/countries.mmdb';
  expect(controlPlaneConfig({ ...BASE, SV_GEOIP_DB: path }).geoipDb).toBe(path);
  expect(problemsOf({ ...BASE, SV_GEOIP_DB_FILE: path })).toHaveLength(1);
});

describe('SV_MCP_ALLOWED_ORIGINS', () => {
  const originsOf = (text: string) =>
    controlPlaneConfig({ ...BASE, SV_MCP_ALLOWED_ORIGINS: text }).mcpAllowedOrigins;

  test('is a list of origins as browsers write them', () => {
    expect(originsOf('https://a.example,http://localhost:6274,moz-extension://0a-1b')).toEqual([
      'https://a.example',
      'http://localhost:6274',
      'moz-extension://0a-1b',
    ]);
  });
  test.each([
    'https://a.example/',
    'https://A.example',
    'https://a.example:443',
    'https://u@a.example',
    'a.example',
    'null',
    '*',
    'https://*',
    'https://*.example',
    'javascript://',
  ])('refuses %s', (text) => {
    expect(problemsOf({ ...BASE, SV_MCP_ALLOWED_ORIGINS: text })).toEqual([
      'SV_MCP_ALLOWED_ORIGINS must list origins like https://app.example.com, with commas between',
    ]);
  });
});

describe('limits', () => {
  test('each scope of the specification has a setting, and what is not set stays as it is', () => {
    const env = { ...BASE, SV_LIMIT_KEY_REVEAL: '5', SV_LIMIT_USER_AGGREGATE: '1', SV_LIMIT_OAUTH_TOKEN: '' };
    expect(controlPlaneConfig(env).limitOverrides).toEqual({ key_reveal: 5, user_aggregate: 1 });
  });
  test.each(['0', '-1', '1.5', '1e3', ' 5', 'many', '99999999999'])('refuses %j', (value) => {
    expect(problemsOf({ ...BASE, SV_LIMIT_KEY_REVEAL: value })).toEqual([
      'SV_LIMIT_KEY_REVEAL must be a whole number from 1 to 1000000000',
    ]);
  });
  test.each(['SV_LIMIT_KEY_REVEALS', 'SV_LIMIT_', 'SV_LIMIT_key_reveal', 'SV_LIMIT_OAUTH_TOKEN_FILE'])(
    'refuses %s and says which there are',
    (name) => {
      const [problem = '', ...others] = problemsOf({ ...BASE, [name]: '5' });
      expect(others).toEqual([]);
      expect(problem).toContain(`${name} names no limit`);
      expect(problem).toContain('SV_LIMIT_AGENT_CREDENTIALS');
      expect(problem).toContain('SV_LIMIT_USER_AGGREGATE');
    },
  );
});

test.each(['redis://127.0.0.1:6379', 'rediss://:secret@cache.example:6380/1'])(
  'takes the Redis at %s',
  (address) => {
    const { redisUrl } = controlPlaneConfig({ ...BASE, SV_REDIS_URL: address });
    expect(redisUrl?.reveal()).toBe(address);
  },
);

test.each([
  'cache:6379',
  'http://cache',
  'redis://',
  'unix:///tmp/redis',
  'redis://cache/limits',
  'redis://cache/1/2',
  'redis://cache/1?enableOfflineQueue=true',
  'redis://cache#1',
])('refuses the Redis at %j without repeating it', (address) => {
  expect(problemsOf({ ...BASE, SV_REDIS_URL: address })).toEqual([
    'SV_REDIS_URL must look like redis://HOST:PORT or redis://HOST:PORT/DATABASE, with rediss:// for TLS',
  ]);
});

test('trusted proxies are ranges and addresses, nothing else', () => {
  const env = { ...BASE, SV_TRUSTED_PROXIES: '10.0.0.0/8, ::1' };
  expect(controlPlaneConfig(env).trustedProxies).toEqual(['10.0.0.0/8', '::1']);
  for (const entry of ['10.0.0.0/33', '127.1', 'proxy.internal', 'loopback', '*'])
    expect(problemsOf({ ...BASE, SV_TRUSTED_PROXIES: `127.0.0.1,${entry}` })).toEqual([
      'SV_TRUSTED_PROXIES must list CIDR ranges or addresses, with commas between',
    ]);
});

test.each(['svadmin_short', 'admin_'.padEnd(60, 'x'), `svadmin_${'x'.repeat(40)} `])(
  'refuses the admin key %j without repeating it',
  (key) => {
    const problems = problemsOf({ ...BASE, SV_BOOTSTRAP_ADMIN_KEY: key });
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain(key);
  },
);

test('lists what is malformed beside what is missing, in one round', () => {
  const env = {
    SV_BASE_URL: 'http://a.example',
    SV_DATABASE_URL: 'mysql://db',
    SV_BOOTSTRAP_EMAIL: 'nobody',
    SV_BOOTSTRAP_ADMIN_KEY: 'svadmin_short',
    SV_EGRESS_ALLOW: '10.0.0.0/8, 10.0.0.0/99',
  };
  expect(problemsOf(env).map((problem) => problem.split(' ')[0])).toEqual([
    'SV_BASE_URL',
    'SV_DATABASE_URL',
    'SV_MASTER_KEY',
    'SV_BOOTSTRAP_EMAIL',
    'SV_BOOTSTRAP_ADMIN_KEY',
    'SV_EGRESS_ALLOW',
  ]);
});

test.each(['10.0.0.0/33', 'a b', '*.example.org', 'https://a.example', '127.1'])(
  'refuses %j in SV_EGRESS_ALLOW',
  (entry) => {
    expect(problemsOf({ ...BASE, SV_EGRESS_ALLOW: `127.0.0.0/8,${entry}` })).toEqual([
      'SV_EGRESS_ALLOW must list CIDR ranges, addresses or host names, with commas between',
    ]);
  },
);

test('SV_CONNECT_TO lists places with another in place of each', () => {
  const places = '127.0.0.1:8090=webhook:8090, hook.example.org:443=[fd00::1]:8090';
  expect(controlPlaneConfig({ ...BASE, SV_CONNECT_TO: places }).connectTo).toEqual(places.split(', '));
  for (const entry of [
    'webhook:8090',
    'a=b',
    'a:1=b',
    'http://a:1=b:1',
    'a:1=b:1=c:1',
    'a:99999=b:1',
    '=:1',
    'C:1=e:1',
  ])
    expect(problemsOf({ ...BASE, SV_CONNECT_TO: `c:1=d:1,${entry}` })).toEqual([
      'SV_CONNECT_TO must list HOST:PORT=HOST:PORT, with commas between and one place for each',
    ]);
});

test('SV_DRAIN_SECONDS is a whole number up to 30', () => {
  expect(controlPlaneConfig({ ...BASE, SV_DRAIN_SECONDS: '30' }).drainSeconds).toBe(30);
  for (const value of ['31', '-1', '1.5', '3s'])
    expect(problemsOf({ ...BASE, SV_DRAIN_SECONDS: value })).toEqual([
      'SV_DRAIN_SECONDS must be a whole number from 0 to 30',
    ]);
});
