import { parseRegistrationLink } from '../binding/registration-link.ts';
import { parseAddress, parseBinding, parseInvitation, TargetRefused, type WebhookToTest } from '../target.ts';
import { readInput, readTextFile } from './files.ts';
import { UsageRefused, type Io } from './io.ts';
import { readBinding } from './saved-binding.ts';

/** Flags that say which webhook is tested, in one of four ways. */
export interface WebhookFlags {
  readonly bindLink?: string;
  readonly code?: string;
  readonly hmacHash?: string;
  readonly binding?: string;
  readonly secret?: string;
  readonly secretFile?: string;
  readonly keyId?: string;
  readonly webhookId?: string;
  readonly webhookUrl?: string;
  readonly serviceUrl?: string;
  /** Seconds. */
  readonly timeout: number;
}

const WAYS = `say which webhook, in one of these ways:
  --bind-link URL (or - for stdin)                                              not bound yet
  --code UUID --hmac-hash HEX --webhook-url URL --service-url URL               the same, taken apart
  --binding FILE                                                                bound by a run with --save-binding
  --secret-file FILE --key-id ID --webhook-id ID --webhook-url URL --service-url URL   bound otherwise`;

/** @throws UsageRefused, TargetRefused; neither quotes a code or a key */
export async function webhookOf(flags: WebhookFlags, io: Io): Promise<WebhookToTest> {
  const ways = (['bindLink', 'code', 'binding', 'secret', 'secretFile'] as const).filter(
    (way) => flags[way] !== undefined,
  );
  const [way, another] = ways;
  if (way === undefined) throw new UsageRefused(WAYS);
  if (another !== undefined)
    throw new UsageRefused(`${flagOf(way)} and ${flagOf(another)} exclude each other`);
  const options = { timeoutMs: flags.timeout * 1000, serviceUrl: flags.serviceUrl?.replace(/\/$/, '') };
  switch (way) {
    case 'bindLink':
      return linked(await readInputUnless(flags.bindLink ?? '', io), options);
    case 'code': {
      const given = all({ ...pick(flags, ['code', 'hmacHash', 'webhookUrl']), ...options });
      return { address: parseAddress(given), invitation: parseInvitation(given) };
    }
    case 'binding':
      return readBinding(readTextFile(flags.binding ?? ''), options);
    case 'secret':
    case 'secretFile': {
      const secret = flags.secret ?? readTextFile(flags.secretFile ?? '').trim();
      const given = all({ ...pick(flags, ['keyId', 'webhookId', 'webhookUrl']), secret, ...options });
      return { address: parseAddress(given), binding: parseBinding(given) };
    }
  }
}

async function readInputUnless(link: string, io: Io): Promise<string> {
  return link === '-' ? readInput('-', io) : link;
}

function linked(text: string, options: Parameters<typeof parseRegistrationLink>[1]): WebhookToTest {
  try {
    return parseRegistrationLink(text, options);
  } catch (error) {
    if (error instanceof TargetRefused) throw error;
    // Without the cause, which quotes the link and so the code.
    throw new UsageRefused('--bind-link: this is no URL');
  }
}

function pick<Name extends keyof WebhookFlags>(
  flags: WebhookFlags,
  names: readonly Name[],
): { [Each in Name]: WebhookFlags[Each] } {
  return Object.fromEntries(names.map((name) => [name, flags[name]])) as {
    [Each in Name]: WebhookFlags[Each];
  };
}

/** @throws UsageRefused that names the flags that are missing */
function all<Given extends object>(given: Given): { [Name in keyof Given]-?: NonNullable<Given[Name]> } {
  const missing = Object.entries(given).filter(([, value]) => value === undefined);
  if (missing.length > 0)
    throw new UsageRefused(`missing: ${missing.map(([name]) => flagOf(name)).join(', ')}`);
  return given as { [Name in keyof Given]-?: NonNullable<Given[Name]> };
}

/** A flag by the name that its value has here. */
function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
