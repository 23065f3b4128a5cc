import { Failure, failed, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { listed, plainLine } from '../output/plain-line.ts';
import { say } from '../output/say.ts';
import { codeIn, refusedByKey } from './refused-by-key.ts';
import { runTool } from './run-tool.ts';

/** What a security key signed for one of its passkeys. */
export interface KeyAssertion {
  /** Web Authentication Level 3, section 6.1. */
  readonly authenticatorData: Uint8Array;
  readonly signature: Uint8Array;
  /** Of the passkey. The program does not say its id. */
  readonly userHandle: Uint8Array;
}

/** One that is plugged in, as `fido2-token -L` lists it. */
interface Device {
  readonly path: string;
  readonly name: string;
}

/** How a key makes sure of the person. */
type Verification = 'finger' | 'pin';

const DEVICE = /^(.+?): vendor=0x[\da-f]{4}, product=0x[\da-f]{4} \((.*)\)$/i;
const ARGUMENTS: Readonly<Record<Verification, readonly string[]>> = {
  finger: ['-t', 'up=true', '-t', 'uv=true'],
  pin: ['-v'],
};
const UNRECOGNISED: ReadonlySet<string | undefined> = new Set(['UV_BLOCKED', 'UV_INVALID']);

/**
 * The security key to sign with.
 *
 * @param path of one, from a person; else the only one that is plugged in
 * @throws Failure where there is none, or several
 */
export async function securityKey(invocation: Invocation, path: string | undefined): Promise<string> {
  if (path !== undefined) {
    if (path.startsWith('-')) throw usage('--device takes the path of a security key: fido2-token -L');
    return path;
  }
  const { code, out, err } = await runTool(invocation, 'fido2-token', ['-L']);
  if (code !== 0) throw refusedByKey(err);
  const devices = out.split('\n').flatMap((line) => deviceIn(line) ?? []);
  const [first, ...others] = devices;
  if (first === undefined)
    throw failed('no security key is plugged in: plug in the one that is an approver of this webhook');
  if (others.length > 0)
    throw usage(
      `several security keys are plugged in; say which by --device: ${listed(devices.map((each) => `${each.path} (${each.name})`))}`,
    );
  return first.path;
}

function deviceIn(line: string): Device | undefined {
  const [, path, name = ''] = DEVICE.exec(line) ?? [];
  return path === undefined ? undefined : { path, name };
}

/**
 * Has a key sign with its passkeys for a relying party, once the person has shown who they are and touched it.
 *
 * @param about.clientDataHash SHA-256 of the client data
 * @returns one for each passkey, the newest first
 * @throws Failure saying why the key did not sign
 */
export async function signWithKey(
  invocation: Invocation,
  device: string,
  about: { readonly clientDataHash: Uint8Array; readonly rpId: string },
): Promise<readonly KeyAssertion[]> {
  const input = `${Buffer.from(about.clientDataHash).toString('base64')}\n${about.rpId}\n`;
  const [first, ...further] = await waysOf(invocation, device);
  for (let way = first; ;) {
    say(invocation, ASKED[way]);
    const args = ['-G', '-r', ...ARGUMENTS[way], device];
    const { code, out, err } = await runTool(invocation, 'fido2-assert', args, input);
    if (code === 0) return assertionsIn(out, input);
    const next = UNRECOGNISED.has(codeIn(err)) ? further.shift() : undefined;
    if (next === undefined) throw refusedByKey(err);
    way = next;
  }
}

const ASKED: Readonly<Record<Verification, string>> = {
  finger: 'put your finger on the security key',
  pin: 'type the PIN of the security key where it is asked for, then touch the key',
};

/** What the key is set up for, best first. @throws Failure for neither */
async function waysOf(invocation: Invocation, device: string): Promise<[Verification, ...Verification[]]> {
  const { code, out, err } = await runTool(invocation, 'fido2-token', ['-I', device]);
  if (code !== 0) throw refusedByKey(err);
  // CTAP 2.1 section 6.4: an option with `no` before it is there and not set up.
  const options = new Set(/^options: (.*)$/m.exec(out)?.[1]?.split(', '));
  const [first, ...others] = [
    ...(options.has('uv') ? (['finger'] as const) : []),
    ...(options.has('clientPin') ? (['pin'] as const) : []),
  ];
  if (first !== undefined) return [first, ...others];
  throw new Failure(
    'denied',
    `the security key has neither PIN nor fingerprint, which approvals need: fido2-token -S ${plainLine(device)} sets a PIN`,
  );
}

const LINES = 5;

/** @param asked lines of the input, which the program repeats */
function assertionsIn(out: string, asked: string): readonly KeyAssertion[] {
  const lines = out.split('\n').slice(0, -1);
  const blocks = Array.from({ length: Math.ceil(lines.length / LINES) }, (_, at) =>
    lines.slice(at * LINES, (at + 1) * LINES),
  );
  return blocks.map(([hash, rpId, data = '', signature = '', userHandle = '']) => {
    const authenticatorData = unwrapped(Buffer.from(data, 'base64'));
    if (`${hash}\n${rpId}\n` !== asked || authenticatorData === undefined)
      throw failed('fido2-assert answered in a form that this version of svault does not know');
    if (((authenticatorData[FLAGS_AT] ?? 0) & USER_VERIFIED) === 0)
      throw new Failure(
        'denied',
        'the security key signed without making sure who touches it: it needs a PIN',
      );
    return {
      authenticatorData,
      signature: Buffer.from(signature, 'base64'),
      userHandle: Buffer.from(userHandle, 'base64'),
    };
  });
}

/** Web Authentication Level 3, section 6.1: behind the hash of the relying party's id. */
const FLAGS_AT = 32;
const USER_VERIFIED = 0x04;

/** Authenticator data comes as a byte string of CBOR (RFC 8949 section 3.1). @returns undefined for anything else */
function unwrapped(cbor: Buffer): Buffer | undefined {
  const [head = 0] = cbor;
  const [from, length] =
    head >= 0x40 && head < 0x58
      ? [1, head - 0x40]
      : head === 0x58 && cbor.length > 2
        ? [2, cbor.readUInt8(1)]
        : head === 0x59 && cbor.length > 3
          ? [3, cbor.readUInt16BE(1)]
          : [0, -1];
  return cbor.length === from + length ? cbor.subarray(from) : undefined;
}
