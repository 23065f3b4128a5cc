import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AssertionChanges, SoftwarePasskey } from '@svault/shared/software-passkey';
import { fakeServer } from './fake-servers.ts';

/** A security key as the programs of libfido2 would find it. */
export interface FakeKey {
  /** Newest first. */
  passkeys: readonly SoftwarePasskey[];
  rpId: string;
  /** As `fido2-token -I` lists them. */
  options: string;
  /** What `fido2-token -L` lists. */
  devices: readonly string[];
  /** What a program ends with instead: a line of its stderr. */
  fails: (tool: string, args: readonly string[]) => string | undefined;
  changes: AssertionChanges;
}

export interface FakeTools {
  /** Folder for PATH. */
  readonly path: string;
  readonly key: FakeKey;
  /** Name and arguments of each call. */
  readonly calls: string[];
}

interface Call {
  readonly tool: string;
  readonly args: readonly string[];
  readonly input: string;
}

/**
 * Programs named `fido2-assert` and `fido2-token` with the options and formats of libfido2's (tools/assert_get.c, token.c,
 * base64.c; the manual pages fido2-assert(1), fido2-token(1)), whose key is passkeys of this process.
 */
export async function fakeSecurityKey(dir: string, key: FakeKey): Promise<FakeTools> {
  const path = join(dir, 'programs');
  mkdirSync(path);
  const calls: string[] = [];
  const { url } = await fakeServer(({ body }) => {
    const call = JSON.parse(body) as Call;
    calls.push([call.tool, ...call.args].join(' '));
    return { body: ended(key, call) };
  });
  const script = `import { text } from 'node:stream/consumers';
const [tool, ...args] = process.argv.slice(2);
const body = JSON.stringify({ tool, args, input: await text(process.stdin) });
const { out = '', err = '' } = await (await fetch('${url}', { method: 'POST', body })).json();
process.stdout.write(out);
process.stderr.write(err);
process.exitCode = err === '' ? 0 : 1;
`;
  writeFileSync(join(path, 'tool.mjs'), script);
  for (const tool of ['fido2-assert', 'fido2-token']) {
    const line = `exec '${process.execPath}' '${join(path, 'tool.mjs')}' ${tool} "$@"`;
    writeFileSync(join(path, tool), `#!/bin/sh\n${line}\n`);
    chmodSync(join(path, tool), 0o755);
  }
  return { path, key, calls };
}

interface Ended {
  readonly out?: string;
  readonly err?: string;
}

function ended(key: FakeKey, { tool, args, input }: Call): Ended {
  const failure = key.fails(tool, args);
  if (failure !== undefined) return { err: `${tool}: ${failure}\n` };
  if (tool === 'fido2-assert') return asserted(key, args, input);
  if (args.join(' ') === '-L') return { out: key.devices.map((device) => `${device}\n`).join('') };
  return args[0] === '-I' ? { out: `proto: 0x02\noptions: ${key.options}\nmaxmsgsiz: 1200\n` } : usage(tool);
}

/** `-G -r` with `-v` or `-t`, device last. */
function asserted(key: FakeKey, args: readonly string[], input: string): Ended {
  if (!/^-G -r (?:-v|-t up=true -t uv=true) [^-]\S*$/.test(args.join(' '))) return usage('fido2-assert');
  const [hash = '', rpId, ...rest] = input.split('\n');
  const clientDataHash = Buffer.from(hash, 'base64');
  if (clientDataHash.length !== 32 || rest.join('') !== '') return { err: 'fido2-assert: input error\n' };
  if (rpId !== key.rpId || key.passkeys.length === 0)
    return { err: 'fido2-assert: fido_dev_get_assert: FIDO_ERR_NO_CREDENTIALS\n' };
  const lines = key.passkeys.flatMap((passkey) => {
    const { authData, signature, userHandle } = passkey.assert(clientDataHash, key.changes);
    return [hash, rpId, ...[authData, signature, userHandle].map((each) => each.toString('base64'))];
  });
  return { out: lines.map((line) => `${line}\n`).join('') };
}

const usage = (tool: string): Ended => ({ err: `usage: ${tool} …\n` });
