import { readmeTables } from '@svault/test-kit/readme-tables';
import { expect, test } from 'vitest';
import { controlPlaneConfig } from '../src/config/config.ts';

const tables = readmeTables('control-plane', controlPlaneConfig);

test('the table of settings names what the program reads, and nothing else', () => {
  expect(tables.settingsRead).toContain('SV_LOG_LEVEL');
  expect(tables.settingsTold).toEqual(tables.settingsRead);
});

test('the table of subcommands names every one', () => {
  expect(tables.subcommandsThere).toContain('serve');
  expect(tables.subcommandsTold).toEqual(tables.subcommandsThere);
});
