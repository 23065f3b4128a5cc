import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  CONTROL_PLANE_ERRORS,
  JSON_RPC_ERRORS,
  OAUTH_ERRORS,
  WEBHOOK_ERRORS,
} from '@svault/shared/error-catalog';
import { describe, expect, test } from 'vitest';
import { unknownThings } from './named-things.ts';

// What a text tells people to run, set or open exists: the commands and flags of this client, and the settings of both programs.

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = globSync('{cli,compose,control-plane,server-kit,shared,webhook}/src/**/*.ts', { cwd: ROOT })
  .filter((path) => !path.endsWith('.test.ts'))
  .toSorted();

/** A source without its comments: what is left of prose is what people read. */
const withoutComments = (source: string): string =>
  source.replaceAll(/^\s*(?:\/\*|\*|\/\/).*$/gm, '').replaceAll(/ \/\/ .*$/gm, '');

test.each(
  Object.entries({ ...CONTROL_PLANE_ERRORS, ...WEBHOOK_ERRORS, ...OAUTH_ERRORS, ...JSON_RPC_ERRORS }),
)(
  'what the catalogue says of %s names nothing that does not exist',
  (_code, { meaning, remedy, ...more }) => {
    const message = 'message' in more ? more.message : '';
    expect([message, meaning, remedy].flatMap(unknownThings)).toEqual([]);
  },
);

test('no text of the programs and the client names a command, a flag or a setting that does not exist', () => {
  const problems = SOURCES.flatMap((path) =>
    unknownThings(withoutComments(readFileSync(`${ROOT}/${path}`, 'utf8'))).map(
      (thing) => `${path}: ${thing}`,
    ),
  );
  expect(SOURCES.length).toBeGreaterThan(300);
  expect(problems).toEqual([]);
});

describe('A text that names', () => {
  test.each([
    ['a command', 'run svault frobnicate', ['command svault frobnicate']],
    ['a flag of a command', 'svault add --frobnicate', ['flag --frobnicate of add']],
    ['a setting', 'set SV_FROBNICATE', ['setting SV_FROBNICATE']],
  ])('%s that does not exist is found', (_what, text, found) => {
    expect(unknownThings(text)).toEqual(found);
  });

  test.each([
    'svault tokens get github, svault ls; svault webhook status',
    'svault grant ci github --expires 1d',
    'no svault answers there, since a svault would',
    'SV_BASE_URL and SV_MASTER_KEY_FILE and SV_LIMIT_MCP_HANDSHAKE',
  ])('things that exist is accepted: %s', (text) => {
    expect(unknownThings(text)).toEqual([]);
  });
});
