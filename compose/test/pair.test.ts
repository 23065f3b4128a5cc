import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished, test, vi } from 'vitest';
import { pairSettings } from '../src/pair.ts';

const allowedBy = (named: string | undefined): string | undefined => {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  vi.stubEnv('SV_EGRESS_ALLOW', named);
  onTestFinished(() => void vi.unstubAllEnvs());
  return pairSettings({ dir: dir.path }, { controlPlane: 1, webhook: 2 }).env['SV_EGRESS_ALLOW'];
};

test('the programs of a pair may call loopback, and what SV_EGRESS_ALLOW of the environment names', () => {
  expect(allowedBy(undefined)).toBe('127.0.0.0/8,::1/128');
  expect(allowedBy('')).toBe('127.0.0.0/8,::1/128');
  expect(allowedBy('192.168.1.0/24,api.test')).toBe('127.0.0.0/8,::1/128,192.168.1.0/24,api.test');
});
