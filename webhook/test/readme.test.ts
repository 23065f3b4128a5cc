import { readmeTables } from '@svault/test-kit/readme-tables';
import { expect, test } from 'vitest';
import { webhookConfig } from '../src/config/config.ts';

const tables = readmeTables('webhook', webhookConfig);

test('the table of settings names exactly the settings of the program', () => {
  expect(tables.settingsRead).toContain('SV_LOG_LEVEL');
  expect(tables.settingsTold).toEqual(tables.settingsRead);
});

test('the table of subcommands names every subcommand', () => {
  expect(tables.subcommandsThere).toContain('serve');
  expect(tables.subcommandsTold).toEqual(tables.subcommandsThere);
});
