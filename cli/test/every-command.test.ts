import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandLine, Outcome } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';
import { programToLookAt } from './program.ts';
import { spellings } from './spellings.ts';

// The specification's table "Command-line client": every command, by each of its names, against a real pair: stdout, stderr, exit code.

let stage: PairAndPeople;
let admin: CommandLine;
let counter = 0;
beforeAll(async () => {
  stage = await pairAndPeople();
  ({ admin } = stage);
});
afterAll(() => stage.close());

const fresh = (what: string): string => `${what}-${(counter += 1)}`;
const SECRET = 'correct horse';

/** A token with a secret. */
async function stored(): Promise<string> {
  const service = fresh('svc');
  const { code, err } = await admin.svault(['add', service], { input: `${SECRET}\n` });
  if (code !== 0) throw new Error(err);
  return service;
}

/** What a command says when it has done what it should: nothing on stderr but what is expected there. */
const expectDone = (outcome: Outcome, out: RegExp | string, err: RegExp | string = ''): void => {
  expect(outcome).toEqual({
    code: 0,
    out: typeof out === 'string' ? out : (expect.stringMatching(out) as string),
    err: typeof err === 'string' ? err : (expect.stringMatching(err) as string),
  });
};

const played: string[] = [];
type Line = (...args: string[]) => readonly string[];

/** Plays one line of the table once for each way to write it. */
function everyWay(line: string, play: (as: Line) => Promise<void>): void {
  const ways = spellings(line).map((words) => ({ words, way: words.join(' ') }));
  played.push(...ways.map(({ way }) => way));
  test.each(ways)('$way', async ({ words }) => play((...args) => [...words, ...args]));
}

describe('tokens', () => {
  everyWay('tokens|tk list, ls', async (as) => {
    const service = await stored();
    expectDone(await admin.svault(as('--format', 'name')), new RegExp(`^(.+\\n)*${service}\\n`));
    const json = await admin.svault(as('--format', 'json'));
    expect(JSON.parse(json.out)).toContainEqual(expect.objectContaining({ serviceName: service }));
    expectDone(await admin.svault(as()), new RegExp(`^NAME .*\\n(.*\\n)*${service} `));
  });

  everyWay('tokens|tk get, get', async (as) => {
    const service = await stored();
    expectDone(await admin.svault(as(service)), SECRET);
    expectDone(await admin.svault(as(service, '--check')), '', /./);
    const json = await admin.svault(as(service, '--format', 'json'));
    expect(JSON.parse(json.out)).toMatchObject({ accessToken: SECRET, serviceName: service });
    const agent = await stage.agent(fresh('agent'), service);
    expectDone(await agent.svault(as(service)), SECRET);
    expect((await agent.svault(as('never-granted'))).code).toBe(4);
    const empty = fresh('svc');
    await admin.svault(['add', empty, '--empty']);
    expect((await admin.svault(as(empty, '--check'))).code).toBe(4);
    await admin.svault(['set', empty, '--body', '-'], { input: '{"tokenType":"PlainText","value":""}' });
    expect((await admin.svault(as(empty, '--check'))).code).toBe(6);
  });

  everyWay('tokens|tk show|info, show', async (as) => {
    const service = await stored();
    const said = await admin.svault(as(service));
    expectDone(said, new RegExp(`${service}`));
    expect(said.out).not.toContain(SECRET);
    expect((await admin.svault(as('no-such-service'))).code).toBe(4);
  });

  everyWay('tokens|tk create|new, add', async (as) => {
    const service = fresh('svc');
    expectDone(await admin.svault(as(service), { input: `${SECRET}\n` }), '', new RegExp(service));
    const { json } = { json: await admin.svault(['show', service, '--format', 'json']) };
    expect(JSON.parse(json.out)).toMatchObject({ tokenType: 'PlainText' });
    const again = await admin.svault(as(service), { input: `${SECRET}\n` });
    expect([again.code, again.out]).toEqual([1, '']);
    expect(again.err).toMatch(/^error: .*set/);
  });

  everyWay('tokens|tk set|up, set', async (as) => {
    const service = await stored();
    expectDone(await admin.svault(as(service), { input: 'another' }), '', new RegExp(service));
    expectDone(await admin.svault(['get', service]), 'another');
    const agent = await stage.agent(fresh('agent'), service);
    expect((await agent.svault(as(service), { input: 'mine' })).code).toBe(3);
  });

  everyWay('tokens|tk edit', async (as) => {
    const service = await stored();
    const described = ['--name', 'The shop', '--notes', 'by hand', '--tags', 'a,b'];
    expectDone(await admin.svault(as(service, ...described)), '', new RegExp(service));
    const shown = JSON.parse((await admin.svault(['show', service, '--format', 'json'])).out) as object;
    expect(shown).toMatchObject({ displayName: 'The shop', notes: 'by hand', tags: ['a', 'b'] });
  });

  everyWay('tokens|tk rm, rm', async (as) => {
    const services = [await stored(), await stored()];
    expectDone(await admin.svault(as(...services, '--yes')), '', new RegExp(services.join('(.*\\n)+.*')));
    expect((await admin.svault(['show', services[0] ?? ''])).code).toBe(4);
    expect((await admin.svault(as('no-such-service', '--yes'))).code).toBe(4);
  });

  everyWay('tokens|tk refresh', async (as) => {
    const said = await admin.svault(as(await stored()));
    expect([said.code, said.out]).toEqual([1, '']);
    expect(said.err).toMatch(/^error: .*(provider|refresh)/);
  });

  everyWay('tokens|tk history', async (as) => {
    const service = await stored();
    expectDone(await admin.svault(as(service)), /TOKEN_CREATED/);
  });

  everyWay('tokens|tk store-ticket', async (as) => {
    const service = await stored();
    const said = await admin.svault(as(service, '--format', 'json'));
    const { url, ticket } = JSON.parse(said.out) as { url: string; ticket: string };
    const answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
      body: '{"tokenType":"PlainText","value":"by ticket"}',
    });
    expect(answer.status).toBe(200);
    expectDone(await admin.svault(['get', service]), 'by ticket');
  });
});

describe('agents', () => {
  const made = async (): Promise<string> => {
    const name = fresh('agent');
    await stage.agent(name);
    return name;
  };
  const statusOf = async (name: string): Promise<unknown> =>
    (JSON.parse((await admin.svault(['agents', 'show', name, '--format', 'json'])).out) as { status: string })
      .status;

  everyWay('agents|ag list', async (as) => {
    const name = await made();
    expectDone(await admin.svault(as()), new RegExp(name));
  });

  everyWay('agents|ag show', async (as) => {
    const name = await made();
    expectDone(await admin.svault(as(name)), new RegExp(name));
    expect((await admin.svault(as('nobody'))).code).toBe(4);
  });

  everyWay('agents|ag create', async (as) => {
    const service = await stored();
    const name = fresh('agent');
    const said = await admin.svault(as('--name', name, '--grants', service));
    expectDone(said, /^svagent_\S+\n$/, new RegExp(name));
    const SVAULT_KEY = said.out.trim();
    expectDone(await admin.svault(['get', service], { env: { SVAULT_KEY } }), SECRET);
    expect((await admin.svault(as())).code).toBe(2);
  });

  everyWay('agents|ag edit', async (as) => {
    const [name, next] = [await made(), fresh('agent')];
    expectDone(await admin.svault(as(name, '--name', next)), '', new RegExp(next));
    expect(await statusOf(next)).toBe('active');
  });

  everyWay('agents|ag suspend|off', async (as) => {
    const name = await made();
    expectDone(await admin.svault(as(name)), '', new RegExp(name));
    expect(await statusOf(name)).toBe('suspended');
  });

  everyWay('agents|ag resume|on', async (as) => {
    const name = await made();
    await admin.svault(['agents', 'suspend', name]);
    expectDone(await admin.svault(as(name)), '', new RegExp(name));
    expect(await statusOf(name)).toBe('active');
  });

  everyWay('agents|ag rm', async (as) => {
    const name = await made();
    expectDone(await admin.svault(as(name, '--yes')), '', new RegExp(name));
    expect((await admin.svault(as(name, '--yes'))).code).toBe(4);
  });
});

describe('grants', () => {
  everyWay('grants|gr add, grant', async (as) => {
    const service = await stored();
    const agent = await stage.agent(fresh('agent'));
    expect((await agent.svault(['get', service])).code).toBe(4);
    expectDone(await admin.svault(as(agent.id, service, '--expires', '1h')), '', new RegExp(service));
    expectDone(await agent.svault(['get', service]), SECRET);
    expect((await admin.svault(as(agent.id, service, '--expires', '1m'))).code).toBe(2);
  });

  everyWay('grants|gr list', async (as) => {
    const service = await stored();
    const agent = await stage.agent(fresh('agent'), service);
    expectDone(await admin.svault(as(agent.id)), new RegExp(service));
  });

  everyWay('grants|gr rm', async (as) => {
    const service = await stored();
    const agent = await stage.agent(fresh('agent'), service);
    expectDone(await admin.svault(as(agent.id, service)), '', new RegExp(service));
    expect((await agent.svault(['get', service])).code).toBe(4);
    expect((await admin.svault(as(agent.id, service))).code).toBe(4);
  });
});

describe('vault', () => {
  everyWay('vault status|stat', async (as) => {
    expectDone(await admin.svault(as()), /unlocked/);
  });

  everyWay('vault lock', async (as) => {
    const agent = await stage.agent(fresh('agent'), await stored());
    try {
      expectDone(await admin.svault(as()), '', /locked/);
      expect(await agent.svault(['get', 'svc-1'])).toMatchObject({ code: 5, out: '', err: /VAULT_LOCKED/ });
    } finally {
      await admin.svault(['vault', 'unlock']);
    }
  });

  everyWay('vault unlock', async (as) => {
    await admin.svault(['vault', 'lock']);
    expectDone(await admin.svault(as()), '', /unlocked/);
  });
});

describe('logins', () => {
  const signedIn = async (): Promise<CommandLine> => {
    const person = stage.stranger();
    const { code, err } = await login(person, ['login'], 'work');
    if (code !== 0) throw new Error(err);
    return person;
  };
  const login = (person: CommandLine, words: readonly string[], name: string): Promise<Outcome> =>
    person.svault([...words, '--as', name, '--key', '-', '--base-url', stage.pair.controlPlaneUrl()], {
      input: stage.pair.adminKey,
    });

  everyWay('login', async (as) => {
    const person = stage.stranger();
    expectDone(await login(person, as(), 'work'), '', /work/);
    expectDone(await person.svault(['context', 'current']), 'work\n');
  });

  everyWay('logout', async (as) => {
    const person = await signedIn();
    expectDone(await person.svault(as()), '', /work/);
    expect((await person.svault(['ls'])).code).toBe(3);
  });

  everyWay('whoami|who', async (as) => {
    expectDone(await (await signedIn()).svault(as()), /owner@example\.org/);
    expect((await stage.stranger().svault(as())).code).toBe(3);
  });

  everyWay('use, context|ctx use', async (as) => {
    const person = await signedIn();
    await login(person, ['login'], 'play');
    expectDone(await person.svault(as('work')), '', /work/);
    expectDone(await person.svault(['context', 'current']), 'work\n');
    expect(await person.svault(as('sea'))).toMatchObject({ code: 2, out: '' });
  });

  everyWay('context|ctx list|ls', async (as) => {
    expectDone(await (await signedIn()).svault(as()), /work/);
  });

  everyWay('context|ctx current', async (as) => {
    expectDone(await (await signedIn()).svault(as()), 'work\n');
    expect((await stage.stranger().svault(as())).code).toBe(3);
  });

  everyWay('context|ctx rm', async (as) => {
    const person = await signedIn();
    expectDone(await person.svault(as('work')), '', /work/);
    expect((await person.svault(as('work'))).code).toBe(2);
  });
});

describe('webhook', () => {
  everyWay('webhook|wh status', async (as) => {
    expectDone(await admin.svault(as()), new RegExp(stage.pair.webhookUrl));
  });

  everyWay('webhook|wh bind', async (as) => {
    const unbound = await pairAndPeople({ bound: false });
    try {
      const link = await registrationLinkByPage(unbound.pair.webhookUrl, unbound.pair.setupToken);
      // The public address of a pair in a test is one that nothing listens at.
      const here = link.replace(/^http:\/\/127\.0\.0\.1:1\//, `${unbound.pair.controlPlaneUrl()}/`);
      expectDone(await unbound.admin.svault(as(here, '--yes')), '', /bound/);
      expectDone(await unbound.admin.svault(['webhook', 'status', '--format', 'json']), /"reachable": true/);
    } finally {
      await unbound.close();
    }
  });

  everyWay('webhook|wh init', async (as) => {
    const folder = join(admin.dir, fresh('project'));
    const set = ['--set', 'SV_WEBHOOK_URL=https://vault.example.org'];
    expectDone(await admin.svault(as(folder, '--method', 'custom', ...set)), '', /compose\.yaml|up/);
    expect(existsSync(join(folder, 'compose.yaml'))).toBe(true);
    expect((await admin.svault(as(folder, '--method', 'pigeon'))).code).toBe(2);
  });

  // That they start and stop containers is played where there is an engine.
  everyWay('webhook|wh up', async (as) => expectNoProject(as));
  everyWay('webhook|wh down', async (as) => expectNoProject(as));
  const expectNoProject = async (as: Line): Promise<void> => {
    const folder = join(admin.dir, fresh('empty'));
    mkdirSync(folder);
    const said = await admin.svault(as(folder));
    expect(said).toMatchObject({ code: 2, out: '' });
    expect(said.err).toMatch(/^error: .*webhook init/);
  };
});

describe('here', () => {
  everyWay('exec', async (as) => {
    const service = await stored();
    const command = ['--with', `PASSWORD=${service}`, '--', 'sh', '-c', 'test "$PASSWORD" = "correct horse"'];
    expectDone(await admin.svault(as(...command)), '');
    expect((await admin.svault(as('--with', `PASSWORD=${service}`, '--', 'false'))).code).toBe(1);
  });

  everyWay('completion', async (as) => {
    const said = await admin.svault(as('bash'));
    expectDone(said, /complete/);
    execFileSync('bash', ['-n'], { input: said.out });
    expect((await admin.svault(as('tcsh'))).code).toBe(2);
  });

  everyWay('help', async (as) => {
    expectDone(await admin.svault(as()), /^Usage: svault /);
    expectDone(await admin.svault(as('tokens', 'get')), /^Usage: svault tokens get /);
    expect((await admin.svault(as('frobnicate'))).code).toBe(2);
  });

  everyWay('explain', async (as) => {
    expectDone(await admin.svault(as('NO_GRANT')), /^NO_GRANT/);
    expect((await admin.svault(as('NO_SUCH_CODE'))).code).toBe(2);
  });
});

/** Every spelling that commander takes, aliases and all. */
function spelledBy(command: Command, before: readonly string[] = ['']): readonly string[] {
  const names = [command.name(), ...command.aliases()];
  const here = before.flatMap((words) => names.map((name) => `${words} ${name}`.trim()));
  return command.commands.length === 0 ? here : command.commands.flatMap((each) => spelledBy(each, here));
}

test('every command is played, by each of its names', () => {
  const program = programToLookAt();
  expect(played.toSorted()).toEqual(program.commands.flatMap((each) => spelledBy(each)).toSorted());
});
