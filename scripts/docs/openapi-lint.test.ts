import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { openApiDocument } from './openapi-document.ts';

const AGENT_API = new URL('../../docs/reference/agent-api.openapi.json', import.meta.url);

const problemsOf = async (source: string): Promise<readonly string[]> => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, config });
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
};

test('the OpenAPI documents of both APIs keep the recommended rules of their linter', async () => {
  expect(await problemsOf(JSON.stringify(await openApiDocument()))).toEqual([]);
  expect(await problemsOf(readFileSync(AGENT_API, 'utf8'))).toEqual([]);
});

test('the linter sees an operation without a summary', async () => {
  const broken = readFileSync(AGENT_API, 'utf8').replace('"summary"', '"x-summary"');
  expect(await problemsOf(broken)).toEqual([expect.stringContaining('operation-summary')]);
});
