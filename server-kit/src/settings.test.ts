import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  SettingsError,
  integer,
  key32,
  list,
  listenAddress,
  oneOf,
  optional,
  readSettings,
  secretText,
  text,
  url,
} from './settings.ts';

const dir = mkdtempSync(join(tmpdir(), 'svault-settings-'));
afterAll(() => rmSync(dir, { recursive: true }));
const file = (name: string, content: string): string => {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
};

const read = (spec: Parameters<typeof readSettings>[0], env: NodeJS.ProcessEnv, foreign: string[] = []) =>
  readSettings(spec, env, { foreign });
const problemsOf = (spec: Parameters<typeof readSettings>[0], env: NodeJS.ProcessEnv): readonly string[] => {
  try {
    read(spec, env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
};

describe('readSettings', () => {
  it('lists every problem at once and repeats no value', () => {
    const spec = {
      SV_BASE_URL: url({ description: 'public address' }),
      SV_LISTEN: listenAddress({ description: 'listen' }),
      SV_MASTER_KEY: key32({ description: 'wraps keys' }),
    };
    const problems = problemsOf(spec, { SV_LISTEN: 'nowhere', SV_MASTER_KEY: 'hunter2', SV_BASEURL: 'x' });
    expect(problems).toEqual([
      'SV_BASE_URL is missing: public address',
      'SV_LISTEN must look like 127.0.0.1:8080 or [::1]:8080',
      'SV_MASTER_KEY must be 32 bytes in base64url without padding (43 characters)',
      'SV_BASEURL is not a setting of this program; did you mean SV_BASE_URL?',
    ]);
    expect(problems.join()).not.toContain('hunter2');
  });

  it("knows the other program's names, their files, and the limits", () => {
    const foreign = ['SV_WEBHOOK_URL', 'SV_WEBHOOK_MASTER_KEY'];
    const env = {
      SV_WEBHOOK_URL: 'x',
      SV_WEBHOOK_MASTER_KEY_FILE: 'x',
      SV_LIMIT_KEY_REVEAL: '5',
      PATH: '/bin',
    };
    expect(readSettings({}, env, { foreign, foreignPrefix: 'SV_LIMIT_' })).toEqual({});
  });

  it('explains an unknown name by the program’s own text', () => {
    const explainUnknown = (name: string): string | undefined =>
      name === 'SV_LIMIT_X' ? 'there is no such limit' : undefined;
    const reading = (): unknown =>
      readSettings({}, { SV_LIMIT_X: '1', SV_Y: '1' }, { foreign: [], explainUnknown });
    expect(reading).toThrow(/there is no such limit\n {2}SV_Y is not a setting of this program/);
  });

  it('reads a key, secret or token from its file, and rejects one that is set both ways', () => {
    const spec = { SV_A_TOKEN: secretText({ description: 'a token' }) };
    const path = file('token', 'from-file\n');
    const values = readSettings(spec, { SV_A_TOKEN_FILE: path }, { foreign: [] });
    expect(values.SV_A_TOKEN.reveal()).toBe('from-file');
    expect(problemsOf(spec, { SV_A_TOKEN_FILE: path, SV_A_TOKEN: 'x' })[0]).toMatch(/set twice/);
    expect(problemsOf(spec, { SV_A_TOKEN_FILE: join(dir, 'none') })[0]).toMatch(/cannot be read.*ENOENT/);
  });

  it('reads no file for a setting that is not secret, unless it allows one', () => {
    expect(
      problemsOf({ SV_NAME: text({ description: 'a name', default: 'x' }) }, { SV_NAME_FILE: 'x' }),
    ).toEqual(['SV_NAME_FILE is not a setting of this program']);
    const spec = { SV_NAME: text({ description: 'a name', file: true }) };
    expect(read(spec, { SV_NAME_FILE: file('name', 'n') })).toEqual({ SV_NAME: 'n' });
  });

  it('treats an empty value as absent', () => {
    const spec = {
      SV_A: text({ description: 'a', default: 'fallback' }),
      SV_B: optional(url({ description: 'b' })),
    };
    expect(read(spec, { SV_A: '', SV_B: '' })).toEqual({ SV_A: 'fallback', SV_B: undefined });
  });

  it.each([
    ['https://a.example/prefix', undefined],
    ['http://127.0.0.1:8080', undefined],
    ['ftp://a.example', 'must start with https:// or http://'],
    ['https://user@a.example', 'must not carry user info'],
    ['https://a.example/?q=1', 'must have no query and no fragment'],
    ['https://a.example/', 'must not end with a slash'],
    ['a.example', 'is not an absolute URL'],
  ])('address %s', (value, problem) => {
    const problems = problemsOf({ SV_U: url({ description: 'u' }) }, { SV_U: value });
    expect(problems).toEqual(problem === undefined ? [] : [`SV_U ${problem}`]);
  });

  it('reads listen addresses, lists, choices and numbers', () => {
    const values = read(
      {
        SV_L: listenAddress({ description: 'l' }),
        SV_LIST: list({ description: 'entries' }),
        SV_ONE: oneOf(['json', 'pretty'], { description: 'one' }),
        SV_N: integer({ description: 'n', min: 1, max: 10 }),
      },
      { SV_L: '[::1]:0', SV_LIST: ' a, b ,,c', SV_ONE: 'json', SV_N: '10' },
    );
    expect(values).toEqual({
      SV_L: { host: '::1', port: 0 },
      SV_LIST: ['a', 'b', 'c'],
      SV_ONE: 'json',
      SV_N: 10,
    });
    expect(problemsOf({ SV_N: integer({ description: 'n', min: 1, max: 10 }) }, { SV_N: '11' })).toHaveLength(
      1,
    );
  });
});
