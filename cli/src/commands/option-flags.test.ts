import { Command } from 'commander';
import { expect, test } from 'vitest';
import { Failure } from '../failure.ts';
import { inFlags } from './option-flags.ts';

const command = (): Command =>
  new Command('create')
    .argument('[service]')
    .option('--name <name>')
    .option('--upstream-url <url>')
    .option('--allow-host <host>')
    .option('--header <header>')
    .option('--type <type>')
    .option('--mcp')
    .option('--agent <agent>')
    .option('--body <file>');

test.each([
  ['upstreamUrl', 'must be a web address', '`--upstream-url` must be a web address'],
  ['allowedHosts.0', 'not a host', '`--allow-host`: not a host'],
  ['headerTemplates.x-a', 'is taken', '`--header` is taken'],
  ['agentId', 'is no agent', '`--agent` is no agent'],
  ['serviceName', 'is missing', '`<service>` is missing'],
  ['displayName', 'is too long', '`--name` is too long'],
  ['tokenType', 'is another', '`--type` is another'],
  ['mcpEnabled', 'must be a boolean', '`--mcp` must be a boolean'],
  ['rules.0.cidrs', 'is empty', 'as the API says it'],
  ['', 'is none', 'as the API says it'],
])('an issue about %j reads in the words of the command line', (path, message, said) => {
  const failure = new Failure('failed', 'as the API says it', {
    code: 'INVALID_ARGUMENT',
    issues: [{ path, message }],
  });
  const { message: shown, code } = inFlags(failure, command());
  expect({ shown, code }).toEqual({ shown: said, code: 'INVALID_ARGUMENT' });
});

test('all issues are said, and what came from a file keeps its name', () => {
  const issues = [
    { path: 'upstreamUrl', message: 'is missing' },
    { path: 'other', message: 'is unknown' },
  ];
  const failure = new Failure('usage', 'as it is', { issues });
  expect(inFlags(failure, command()).message).toBe('`--upstream-url` is missing; other is unknown');
  const fromFile = command().parse(['--body', 'x.json'], { from: 'user' });
  expect(inFlags(failure, fromFile).message).toBe('as it is');
});
