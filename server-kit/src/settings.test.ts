import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toBase64url } from '@svault/shared';
import { afterAll, describe, expect, it } from 'vitest';
import { outputOfCommand } from './secret-command.ts';
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
    expect(problemsOf(spec, { SV_A_TOKEN_FILE: path, SV_A_TOKEN: 'x' })[0]).toMatch(
      /^SV_A_TOKEN is given by SV_A_TOKEN and SV_A_TOKEN_FILE: set one/,
    );
    expect(problemsOf(spec, { SV_A_TOKEN_FILE: join(dir, 'none') })[0]).toMatch(/cannot be read.*ENOENT/);
  });

  describe('a root key from a command', () => {
    const KEY = toBase64url(randomBytes(32));
    const spec = { SV_MASTER_KEY: key32({ description: 'wraps keys' }) };
    const env = { PATH: process.env['PATH'] };
    const problems = (command: string): readonly string[] =>
      problemsOf(spec, { ...env, SV_MASTER_KEY_COMMAND: command });

    it.each([
      ['its words', `echo ${KEY}`],
      ['a pipe in a shell', `sh -c 'printf %s "$0" | cat' ${KEY}`],
      ['a file whose name has a space', `cat "${file('root key', `${KEY}\r\n`)}"`],
    ])('is read by %s', (_what, command) => {
      const { SV_MASTER_KEY } = readSettings(
        spec,
        { ...env, SV_MASTER_KEY_COMMAND: command },
        { foreign: [] },
      );
      expect(toBase64url(SV_MASTER_KEY.reveal())).toBe(KEY);
    });

    it('is rejected beside another source, and the command does not run', () => {
      const marker = join(dir, 'ran');
      const both = { ...env, SV_MASTER_KEY: KEY, SV_MASTER_KEY_COMMAND: `touch ${marker}` };
      expect(problemsOf(spec, both)).toEqual([
        'SV_MASTER_KEY is given by SV_MASTER_KEY and SV_MASTER_KEY_COMMAND: set one of them',
      ]);
      expect(existsSync(marker)).toBe(false);
    });

    it.each([
      ['false', 'false failed with exit code 1'],
      ['true', 'true printed nothing'],
      ['echo', 'echo printed nothing'],
      ['  ', 'it names no command, or a quote is not closed'],
      ["sh -c 'exit", 'it names no command, or a quote is not closed'],
      ['/no/such/program --key', '/no/such/program cannot be run: ENOENT'],
      ["sh -c 'kill -9 $$'", 'sh was ended by SIGKILL'],
      ['head -c 4097 /dev/zero', 'head printed more than 4096 bytes'],
    ])('by %j is rejected with the name of the setting', (command, problem) => {
      expect(problems(command)).toEqual([
        `SV_MASTER_KEY cannot be read from SV_MASTER_KEY_COMMAND: ${problem}`,
      ]);
    });

    it.each([
      ['binary', 'head -c 32 /dev/zero', /printed 32 bytes$/],
      ['with padding', `echo ${KEY}=`, /printed 44 bytes$/],
      ['with a line more', `printf '${KEY}\n\n'`, /printed 44 bytes$/],
      ['cut', `echo ${KEY.slice(1)}`, /printed 42 bytes$/],
    ])('is rejected %s, and not repeated', (_what, command, problem) => {
      const [said = '', ...others] = problems(command);
      expect(others).toEqual([]);
      expect(said).toMatch(
        /^SV_MASTER_KEY must be 32 bytes in base64url without padding \(43 characters\); its /,
      );
      expect(said).toMatch(problem);
      expect(said).not.toContain(KEY.slice(1));
    });

    it('may be there at another start when its command fails, and not when it prints another thing', () => {
      const mayPass = (settings: NodeJS.ProcessEnv): boolean | undefined => {
        try {
          read(spec, { ...env, ...settings });
        } catch (error) {
          if (error instanceof SettingsError) return error.mayPass;
        }
        return undefined;
      };
      expect(mayPass({ SV_MASTER_KEY_COMMAND: 'false' })).toBe(true);
      expect(mayPass({ SV_MASTER_KEY_COMMAND: 'echo short' })).toBe(false);
      expect(mayPass({ SV_MASTER_KEY_COMMAND: 'false', SV_UNKNOWN: 'x' })).toBe(false);
    });

    it('comes from a command that gets the environment without the settings', () => {
      const seen = join(dir, 'environment');
      const given = {
        ...env,
        AWS_REGION: 'eu-north-1',
        SV_MASTER_KEY_COMMAND: `sh -c 'env > ${seen}; echo ${KEY}'`,
        SV_WEBHOOK_MASTER_KEY: 'hunter2',
      };
      readSettings(spec, given, { foreign: ['SV_WEBHOOK_MASTER_KEY'] });
      const lines = readFileSync(seen, 'utf8');
      expect(lines).toContain('AWS_REGION=eu-north-1');
      expect(lines).not.toMatch(/^SV_/m);
    });

    it('is no other secret', () => {
      const token = { SV_A_TOKEN: optional(secretText({ description: 'a token' })) };
      expect(problemsOf(token, { SV_A_TOKEN_COMMAND: 'echo x' })).toEqual([
        'SV_A_TOKEN_COMMAND is not a setting of this program',
      ]);
      expect(read(token, { SV_WEBHOOK_MASTER_KEY_COMMAND: 'x' }, ['SV_WEBHOOK_MASTER_KEY'])).toEqual({});
    });
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

describe('outputOfCommand', () => {
  it('kills a command that does not end in time', () => {
    const run = (): string => outputOfCommand('SV_MASTER_KEY_COMMAND', 'sleep 600', process.env, 50);
    expect(run).toThrow(/^cannot be read from SV_MASTER_KEY_COMMAND: sleep did not end within 0.05 seconds$/);
  });
});
