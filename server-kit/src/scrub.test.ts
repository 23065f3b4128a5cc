import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createLogger } from './logger.ts';
import { scrub } from './scrub.ts';

const SECRET = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG';

it.each([
  `svagent_${SECRET}`,
  `Authorization: Bearer svsess_${SECRET}`,
  `x-mcp-key: mcp_${SECRET}`,
  `{"key":"svadmin_${SECRET}"}`,
  `Authorization: Bearer svcli_${SECRET}`,
  `"refreshToken":"svclir_${SECRET}"`,
  `GET /v1/credential?ticket=eyJhbGciOi.${SECRET}.x`,
  `/api/agents/credentials?service=a&key=${SECRET}`,
  `eyJhbGciOiJIUzI1NiJ9.${SECRET}.${SECRET}`,
  `Bearer ${SECRET}`,
])('masks %s', (line) => {
  expect(scrub(line)).not.toContain(SECRET);
  expect(scrub(line)).toContain('[redacted]');
});

it('scrub leaves ordinary text unchanged', () => {
  const line = 'agent agt_0123456789 asked for github, grants=3, monkey=business';
  expect(scrub(line)).toBe(line);
});

it.each(['json', 'pretty'] as const)('scrubs messages, fields and errors in %s logs', async (format) => {
  const destination = new PassThrough();
  const logger = createLogger({ name: 'test', level: 'info', format, destination });
  logger.info(
    { err: new Error(`refused svagent_${SECRET}`), url: `/x?ticket=${SECRET}` },
    `key svadmin_${SECRET}`,
  );
  destination.end();
  const lines = (await destination.toArray()).join('');
  expect(lines).toContain('[redacted]');
  expect(lines).not.toContain(SECRET);
});
