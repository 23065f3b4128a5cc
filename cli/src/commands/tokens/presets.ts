import { isObject } from '@svault/shared';
import { usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { jsonIn } from '../../json-in.ts';
import { askLine } from '../../secret-input/ask.ts';
import { readSecret } from '../../secret-input/read-secret.ts';
import type { PresetName, SecretOptions } from './options.ts';
import { type Members, fieldArgument, fieldValue } from './record-members.ts';

/** A member of a record that a preset asks a person for. */
interface Question {
  /** As `--field` takes it. */
  readonly field: string;
  readonly asks: string;
  /** May be left out: an empty answer does. */
  readonly optional?: true;
}

/** A record whose type and members are known but for what only its owner knows. */
interface Preset {
  readonly members: Members;
  readonly questions: readonly Question[];
  /** Whether the secret comes as the JSON file of a Google service account. */
  readonly serviceAccountFile?: true;
}

const CLIENT_ID: Question = { field: 'provider.clientId', asks: 'OAuth client id' };
const REFRESH_TOKEN = 'refreshToken';

const oauth = (tokenUrl: string): Preset => ({
  members: { tokenType: 'JWT', provider: { tokenUrl } },
  questions: [CLIENT_ID],
});

const minter = (type: string, settings: Members, questions: readonly Question[]): Preset => ({
  members: { tokenType: 'RawCredential', minter: { type, ...settings } },
  questions,
});

const PRESETS: Readonly<Record<PresetName, Preset>> = {
  'aws-sts': minter('aws-sts', {}, [
    { field: 'minter.accessKeyId', asks: 'Access key id (AKIA…)' },
    { field: 'minter.roleArn', asks: 'Role to assume, arn:aws:iam::…:role/… (empty: none)', optional: true },
    { field: 'minter.region', asks: 'Region, such as eu-central-1 (empty: none)', optional: true },
  ]),
  'gcp-service-account': {
    ...minter('gcp-service-account', { scopes: ['https://www.googleapis.com/auth/cloud-platform'] }, []),
    serviceAccountFile: true,
  },
  'github-app': minter('github-app', {}, [
    { field: 'minter.appId', asks: 'App id or client id' },
    {
      field: 'minter.installationId',
      asks: 'Installation id (the number at the end of its settings’ address)',
    },
  ]),
  oauth: {
    members: { tokenType: 'JWT' },
    questions: [{ field: 'provider.tokenUrl', asks: 'Token endpoint, https://…' }, CLIENT_ID],
  },
  'oauth-google': oauth('https://oauth2.googleapis.com/token'),
  'oauth-github': oauth('https://github.com/login/oauth/access_token'),
  'oauth-microsoft': oauth('https://login.microsoftonline.com/common/oauth2/v2.0/token'),
};

/**
 * Takes `--preset` out of the options: its members, and what a person answers to its questions, stand in `presetMembers`.
 * @throws Failure usage where something is missing and nobody can be asked; interrupted
 */
export async function withPreset<T extends SecretOptions>(
  invocation: Invocation,
  name: string,
  options: T,
): Promise<T> {
  if (options.preset === undefined) return options;
  const preset = PRESETS[options.preset];
  const answered = new Set((options.field ?? []).map((argument) => fieldArgument(argument).path.join('.')));
  const missing = preset.questions.filter(({ field }) => !answered.has(field));
  let members = preset.members;
  const { interactive } = invocation.terminal;
  const canAsk = interactive.in && interactive.err && invocation.flags.dryRun !== true;
  const needed = missing.filter(({ optional }) => optional === undefined);
  if (!canAsk && needed.length > 0)
    throw usage(
      `the preset ${options.preset} needs ${needed.map(({ field }) => `--field ${field}=…`).join(' and ')}`,
    );
  if (canAsk)
    for (const { field, asks, optional } of missing) {
      const answer = (await askLine(invocation, `${asks}:`)).trim();
      if (answer !== '') members = withAnswer(members, field, answer);
      else if (optional === undefined) throw usage(`${field} is needed`);
    }
  if (preset.serviceAccountFile === true) return withServiceAccount(invocation, name, { options, members });
  if (preset.members['tokenType'] === 'JWT' && canAsk)
    members = await withOauthSecrets(invocation, name, { members, answered });
  return { ...options, presetMembers: members };
}

function withAnswer(members: Members, field: string, answer: string): Members {
  const { path } = fieldArgument(`${field}=`);
  return merged(members, nested(path, fieldValue({ path }, answer)));
}

const nested = ([first, second]: readonly [string] | readonly [string, string], value: unknown): Members => ({
  [first]: second === undefined ? value : { [second]: value },
});

/** Members of a preset, and over them those that the command line says. */
export function merged(members: Members, over: Members): Members {
  const all: Record<string, unknown> = { ...members };
  for (const [name, value] of Object.entries(over)) {
    const { [name]: under } = members;
    all[name] = isObject(under) && isObject(value) ? { ...under, ...value } : value;
  }
  return all;
}

/** What a webhook needs to refresh a token; the access token itself is asked for as of any JWT. */
async function withOauthSecrets(
  invocation: Invocation,
  name: string,
  { members, answered }: { members: Members; answered: ReadonlySet<string> },
): Promise<Members> {
  const { promptSecret } = await import('../../secret-input/prompt-secret.ts');
  let all = members;
  for (const [field, asks] of [
    ['provider.clientSecret', `OAuth client secret of ${name} (empty: a public client)`],
    [REFRESH_TOKEN, `Refresh token of ${name} (empty: none)`],
  ] as const) {
    if (answered.has(field)) continue;
    const secret = await promptSecret(invocation, asks);
    if (secret !== '') all = withAnswer(all, field, secret);
  }
  return all;
}

/** The file that Google gives for a key of a service account holds the whole of what is needed. */
async function withServiceAccount<T extends SecretOptions>(
  invocation: Invocation,
  name: string,
  { options, members }: { options: T; members: Members },
): Promise<T> {
  const { fromFile, ...others } = options;
  if (fromFile === undefined && invocation.terminal.interactive.in)
    throw usage('give the key file of the service account: --from-file key.json');
  const text = await readSecret(invocation, { question: `Key file of ${name}`, file: fromFile });
  const file = jsonIn(text);
  const { client_email: clientEmail, private_key: privateKey, type } = isObject(file) ? file : {};
  if (type !== 'service_account' || typeof clientEmail !== 'string' || typeof privateKey !== 'string')
    throw usage('that is not the key file of a service account, which Google Cloud creates as JSON');
  const presetMembers = merged(members, { minter: { clientEmail, privateKey } });
  return { ...(others as T), presetMembers };
}
