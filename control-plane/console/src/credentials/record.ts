import type { RequestRule } from '@svault/shared/request-rules';
import {
  APPROVED_OPERATIONS,
  type StoreBody,
  allowedHostFor,
  serviceNameSchema,
  storeBodySchema,
} from '@svault/shared/schemas';
import { Problem } from '../api/client.ts';
import { textOf } from '../parts/form.tsx';
import { requestRulesIn } from '../parts/request-rules-in.ts';
import type { KindId } from './kinds.ts';
import { pemProblem, pemText, signingKeyProblem } from './pem.ts';

type Members = Readonly<Record<string, unknown>>;
type Issues = Record<string, string>;

const NEEDED = 'This is needed.';

/**
 * The body of a store, from the fields of a form, whose names are the paths of its members. It is checked here by the schema
 * of the webhook, whose refusal would use up a ticket and leave a credential without a secret behind.
 *
 * @throws Problem that names the fields, and nothing of what is in them
 */
export async function recordOf(kind: KindId, values: FormData): Promise<StoreBody> {
  const issues: Issues = {};
  if (values.has('serviceName') && !serviceNameSchema.safeParse(textOf(values, 'serviceName')).success)
    issues['serviceName'] =
      'A name has 1 to 128 characters, no slash, no control characters, and no spaces around it.';
  const secret = await MEMBERS[kind]({ values, issues });
  const members = { ...secret, ...restrictionsIn({ values, issues }) };
  const parsed = storeBodySchema.safeParse(members, {
    error: ({ code, input }) => (code === 'invalid_type' && input === undefined ? NEEDED : undefined),
  });
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = fieldFor(path.map(String), values);
    const entry = typeof path.at(-1) === 'number' ? entryAt(members, path) : '';
    issues[name] ??= entry + sentence(MESSAGES[name] ?? message);
  }
  if (parsed.data === undefined || Object.keys(issues).length > 0)
    throw new Problem(
      issues[''] ?? 'This cannot be stored as it is.',
      Object.entries(issues)
        .filter(([path]) => path !== '')
        .map(([path, message]) => ({ path, message })),
    );
  return parsed.data;
}

/** Where the schema's own words are about members that the form does not show. */
const MESSAGES: Readonly<Record<string, string>> = {
  allowShortSecret:
    'The secret has less than 80 bits. Those who use a proxy with it could find it out. Check this to accept that, or name no host.',
  recipients: 'Sealed delivery needs the public keys (JWK) of 1 to 20 recipients.',
};

/** The field that an issue is about: of the member itself, or of what it is in. */
function fieldFor(path: readonly string[], values: FormData): string {
  if (path[0] === 'otpauthUri') return 'secret';
  if (path[0] === 'minter' && values.has('keyFile') && path[1] !== 'scopes') return 'keyFile';
  for (let length = path.length; length > 0; length--) {
    const name = path.slice(0, length).join('.');
    if (values.has(name)) return name;
  }
  // A box that is not checked is not among the values.
  return path[0] === 'allowShortSecret' ? path[0] : '';
}

/** Of a list that is no secret, the entry that is meant. */
function entryAt(members: Members, path: readonly PropertyKey[]): string {
  const entry = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)[key], members);
  return typeof entry === 'string' ? `${entry.slice(0, 100)}: ` : '';
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!]$/.test(text) ? '' : '.'}`;

interface Form {
  readonly values: FormData;
  readonly issues: Issues;
}

/** The text of a field without space around it, or nothing. */
const given = ({ values }: Form, name: string): string | undefined =>
  textOf(values, name).trim() || undefined;

const numberIn = (form: Form, name: string): number | undefined => {
  const text = given(form, name);
  return text === undefined ? undefined : Number(text);
};

const listIn = (form: Form, name: string): readonly string[] | undefined => {
  const items = textOf(form.values, name)
    .split(/[,\s]+/)
    .filter((item) => item !== '');
  return items.length === 0 ? undefined : items;
};

/** A secret as it was typed. An editor's line end behind it is none of it. */
const secretIn = ({ values }: Form, name: string): string | undefined =>
  textOf(values, name).replace(/\r\n?/g, '\n').replace(/\n$/, '') || undefined;

function pemIn(form: Form, name: string, is: 'certificate' | 'private key'): string | undefined {
  const text = given(form, name);
  const problem = text === undefined ? undefined : pemProblem(text, is);
  if (problem !== undefined) form.issues[name] = problem;
  return text === undefined ? undefined : pemText(text);
}

async function signingKeyIn(form: Form, name: string, text: string | undefined) {
  const problem = text === undefined ? undefined : await signingKeyProblem(text);
  if (problem !== undefined) form.issues[name] = problem;
  return text === undefined ? undefined : pemText(text);
}

const MEMBERS: Readonly<Record<KindId, (form: Form) => Members | Promise<Members>>> = {
  text: (form) => ({ tokenType: 'PlainText', value: secretIn(form, 'value') }),
  raw: (form) => ({ tokenType: 'RawCredential', value: secretIn(form, 'value') ?? needed(form, 'value') }),
  'access-token': (form) => ({ tokenType: 'JWT', ...tokensIn(form) }),
  oauth: (form) => {
    const isMediated = form.values.has('provider.mediated');
    const provider = {
      tokenUrl: given(form, 'provider.tokenUrl'),
      clientId: given(form, 'provider.clientId'),
      clientSecret: isMediated ? undefined : secretIn(form, 'provider.clientSecret'),
      authMethod: given(form, 'provider.authMethod'),
      scope: given(form, 'provider.scope'),
      mediated: isMediated ? true : undefined,
    };
    return { tokenType: 'JWT', ...tokensIn(form), provider };
  },
  totp: (form) => {
    const text = given(form, 'secret');
    const isUri = text !== undefined && /^otpauth/i.test(text);
    const [algorithm, digits, period] = ['algorithm', 'digits', 'period'].map((name) => given(form, name));
    const problem = text === undefined ? NEEDED : seedProblem(text);
    if (problem !== undefined) form.issues['secret'] = problem;
    return {
      tokenType: 'TOTP',
      ...(isUri ? { otpauthUri: text } : { secret: text }),
      algorithm,
      digits: digits && Number(digits),
      period: period && Number(period),
    };
  },
  'aws-sts': (form) => ({
    tokenType: 'RawCredential',
    minter: {
      type: 'aws-sts',
      accessKeyId: given(form, 'minter.accessKeyId'),
      secretAccessKey: given(form, 'minter.secretAccessKey'),
      roleArn: given(form, 'minter.roleArn'),
      region: given(form, 'minter.region'),
      durationSeconds: numberIn(form, 'minter.durationSeconds'),
      sessionPolicy: given(form, 'minter.sessionPolicy'),
    },
  }),
  'gcp-service-account': async (form) => ({
    tokenType: 'RawCredential',
    minter: {
      type: 'gcp-service-account',
      ...(await serviceAccountIn(form)),
      scopes: listIn(form, 'minter.scopes'),
    },
  }),
  'github-app': async (form) => ({
    tokenType: 'RawCredential',
    minter: {
      type: 'github-app',
      appId: given(form, 'minter.appId'),
      installationId: given(form, 'minter.installationId'),
      privateKey: await signingKeyIn(form, 'minter.privateKey', given(form, 'minter.privateKey')),
      apiUrl: given(form, 'minter.apiUrl'),
      repositories: listIn(form, 'minter.repositories'),
      permissions: permissionsIn(form),
    },
  }),
  certificate: (form) => ({
    tokenType: 'Certificate',
    certificate: pemIn(form, 'certificate', 'certificate'),
    privateKey: pemIn(form, 'privateKey', 'private key'),
  }),
  'ssh-key': (form) => ({
    tokenType: 'SSHKey',
    privateKey: pemIn(form, 'privateKey', 'private key'),
    publicKey: given(form, 'publicKey'),
  }),
};

function needed(form: Form, name: string): undefined {
  form.issues[name] = NEEDED;
  return undefined;
}

function tokensIn(form: Form): Members {
  const refreshToken = given(form, 'refreshToken');
  return {
    accessToken: given(form, 'accessToken'),
    refreshToken,
    ...(refreshToken !== undefined && { shareRefreshToken: form.values.has('shareRefreshToken') }),
  };
}

/** Why a text gives no codes; the schema says only that it does not. */
function seedProblem(text: string): string | undefined {
  if (/^otpauth-migration:/i.test(text))
    return 'This is an export of several accounts. Show the QR code of one account instead.';
  if (/^otpauth:\/\/hotp\//i.test(text))
    return 'These codes are counted (HOTP). Only codes by time (TOTP) can be stored.';
  if (/^otpauth:\/\/totp\//i.test(text)) return undefined;
  return /^[A-Za-z2-7\s=-]+$/.test(text)
    ? undefined
    : 'This is neither base32 (letters and the digits 2 to 7) nor an address that begins with otpauth://totp/';
}

/** The file that Google gives for a key of a service account holds all that is needed. */
async function serviceAccountIn(form: Form): Promise<Members> {
  const text = given(form, 'keyFile');
  if (text === undefined) return { privateKey: needed(form, 'keyFile') };
  const file = jsonIn(text);
  const { type, client_email: clientEmail, private_key: key } = (file ?? {}) as Members;
  if (type !== 'service_account' || typeof clientEmail !== 'string' || typeof key !== 'string') {
    form.issues['keyFile'] =
      file === undefined
        ? 'This is not JSON, or it is damaged or cut off. Take the whole key file.'
        : 'This is JSON, but not the key file of a service account.';
    return {};
  }
  return { clientEmail, privateKey: await signingKeyIn(form, 'keyFile', key) };
}

/** The message of a failed parse would quote the text. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Lines such as `contents: read`. */
function permissionsIn(form: Form): Members | undefined {
  const lines = textOf(form.values, 'minter.permissions')
    .split(/[\n,]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length === 0) return undefined;
  const pairs = lines.map((line) => line.split(/\s*[:=]\s*/));
  if (pairs.some((pair) => pair.length !== 2))
    form.issues['minter.permissions'] = 'One on each line, such as contents: read';
  return Object.fromEntries(pairs.map(([name = '', level]) => [name, level]));
}

/** What is sealed with the secret. */
function restrictionsIn(form: Form): Members {
  const { values, issues } = form;
  const delivery = given(form, 'delivery');
  const expiry = given(form, 'expiryTime');
  const expiryMs = expiry === undefined ? undefined : Date.parse(expiry);
  if (Number.isNaN(expiryMs)) issues['expiryTime'] = 'This is not a time.';
  return {
    allowedHosts: listIn(form, 'allowedHosts')?.map((host) => hostFrom(host)),
    allowedHeaders: listIn(form, 'allowedHeaders'),
    allowedQuery: listIn(form, 'allowedQuery'),
    requests: rulesIn(form),
    approval: approvalIn(form),
    delivery,
    recipients: delivery === 'sealed' ? recipientsIn(form) : undefined,
    allowShortSecret: values.has('allowShortSecret') ? true : undefined,
    expiryTime:
      expiryMs === undefined || Number.isNaN(expiryMs) ? undefined : new Date(expiryMs).toISOString(),
  };
}

function rulesIn({ values, issues }: Form): readonly RequestRule[] | undefined {
  const { rules, problem } = requestRulesIn(textOf(values, 'requests'));
  if (problem !== undefined) issues['requests'] ??= problem;
  return rules.length === 0 ? undefined : rules;
}

/** For what an approver is asked, where that is anything. */
function approvalIn(form: Form): Members | undefined {
  const uses = APPROVED_OPERATIONS.filter((name) => form.values.has(`approval.${name}`));
  if (uses.length === 0) return undefined;
  return { by: 'passkey', for: uses, standingSeconds: numberIn(form, 'approval.standingSeconds') };
}

/** People copy a host from an address, which has more; with a path it stays as it is, and is refused. */
function hostFrom(text: string): string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url?.href === `${url?.origin}/` ? allowedHostFor(url) : text;
}

/** One JWK, several, or a JWK set. */
function recipientsIn(form: Form): unknown {
  const text = given(form, 'recipients');
  if (text === undefined) return undefined;
  const read = jsonIn(text) ?? jsonIn(`[${text.replace(/\}\s*\{/g, '},{')}]`);
  if (Array.isArray(read)) return read;
  const { keys } = (read ?? {}) as Members;
  return Array.isArray(keys) ? keys : [read];
}
