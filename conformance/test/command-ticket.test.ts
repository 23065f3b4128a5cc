import { describe, expect, test } from 'vitest';
import { useCommandLine } from './command-line.ts';

const line = useCommandLine();
const { run, targetFlags } = line;

describe('ticket', () => {
  const claimsOf = (ticket = ''): unknown =>
    JSON.parse(Buffer.from(ticket.split('.')[1] ?? '', 'base64url').toString());

  test('prints a ticket that the webhook accepts once', async () => {
    const flags = await targetFlags();
    expect(await run('ticket', '--op', 'credential', '--svc', 'none', ...flags)).toBe(0);
    const [ticket] = line.out;
    expect(JSON.parse(line.err[0] ?? '')).toEqual(claimsOf(ticket));
    const fetched = async (): Promise<number> =>
      (await fetch(`${line.webhook?.url}/v1/credential?ticket=${ticket}`)).status;
    expect([await fetched(), await fetched()]).toEqual([404, 401]);
  });

  test('sets the claims that are given', async () => {
    const claims = ['jti=AAECAwQFBgcICQoLDA0ODw', 'exp=1767225660', 'cnf={"jkt":"x"}', 'gnt='];
    const given = claims.flatMap((claim) => ['--claim', claim]);
    await run('ticket', '--op', 'credential', '--svc', 'a b', ...given, ...(await targetFlags()));
    const got = claimsOf(line.out[0]);
    expect(got).toMatchObject({
      svc: 'a b',
      jti: 'AAECAwQFBgcICQoLDA0ODw',
      exp: 1767225660,
      cnf: { jkt: 'x' },
    });
    expect(got).not.toHaveProperty('gnt');
  });

  test.each([
    [['--op', 'proxy', '--svc', 'a', '--claim', 'htm=GET'], /needs --claim prx=/],
    [['--op', 'credential', '--svc', 'a', '--claim', 'jti'], /is NAME=VALUE/],
    [['--op', 'sign', '--svc', 'a'], /choices/],
  ])('refuses %j', async (args, said) => {
    expect(await run('ticket', ...args, ...(await targetFlags()))).toBe(2);
    expect(line.err.join('\n')).toMatch(said);
  });
});
