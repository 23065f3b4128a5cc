import { expect, test } from 'vitest';
import { SettingsError } from '@svault/server-kit/settings';
import { controlPlaneConfig } from './config.ts';

const BASE = { SV_BASE_URL: 'https://svault.example', SV_MASTER_KEY: 'A'.repeat(43) };
const OIDC = {
  SV_OIDC_ISSUER: 'https://id.example/realms/a',
  SV_OIDC_CLIENT_ID: 'svault',
  SV_OIDC_CLIENT_SECRET: 'hush',
};

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    controlPlaneConfig({ ...BASE, ...env });
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
};

test('no provider unless it is named; then nobody unknown gets an account unless that is named too', () => {
  expect(controlPlaneConfig(BASE).oidc).toBeUndefined();
  const { oidc } = controlPlaneConfig({ ...BASE, ...OIDC });
  expect(oidc).toMatchObject({ issuer: OIDC.SV_OIDC_ISSUER, clientId: 'svault', signUp: false });
  expect(oidc?.clientSecret.reveal()).toBe('hush');
  expect(controlPlaneConfig({ ...BASE, ...OIDC, SV_OIDC_SIGN_UP: 'on' }).oidc?.signUp).toBe(true);
});

test.each(['https://id.example', 'https://id.example/', 'http://127.0.0.1:3000', 'http://[::1]:3000/a'])(
  'the issuer can be %s, as it is written',
  (issuer) => {
    expect(controlPlaneConfig({ ...BASE, ...OIDC, SV_OIDC_ISSUER: issuer }).oidc?.issuer).toBe(issuer);
  },
);

test.each([
  'http://id.example',
  'id.example',
  'https://a:b@id.example',
  'https://id.example?a=b',
  'ftp://127.0.0.1',
])('the issuer cannot be %s', (issuer) => {
  expect(problemsOf({ ...OIDC, SV_OIDC_ISSUER: issuer })).toHaveLength(1);
});

test.each([
  ...Object.keys(OIDC).map((missing) => ({ ...OIDC, [missing]: '' })),
  ...Object.entries(OIDC).map(([name, value]) => ({ [name]: value })),
  { SV_OIDC_SIGN_UP: 'on' },
])('a part alone is refused: %j', (env) => {
  expect(problemsOf(env)).toEqual([expect.stringContaining('come together')]);
});
