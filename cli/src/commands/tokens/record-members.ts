import { SECRET_FIELD_NAMES } from '@svault/shared/schemas';
import { usage } from '../../failure.ts';
import { plainLine } from '../../output/plain-line.ts';

/** The body of a store at the webhook, before it is checked (PROTOCOL.md section 5.5). */
export type Members = Readonly<Record<string, unknown>>;

type Kind = 'text' | 'number' | 'boolean' | 'list' | 'object';

const KINDS: Readonly<Record<string, Kind>> = {
  digits: 'number',
  period: 'number',
  allowShortSecret: 'boolean',
  shareRefreshToken: 'boolean',
  provider: 'object',
  'provider.mediated': 'boolean',
  minter: 'object',
  'minter.durationSeconds': 'number',
  'minter.scopes': 'list',
  'minter.repositories': 'list',
  'minter.permissions': 'object',
};

interface FieldArgument {
  /** `privateKey`, or `provider.clientId`. */
  readonly path: readonly [string] | readonly [string, string];
  readonly text?: string;
  readonly file?: string;
}

/** Takes apart `NAME=TEXT` or `NAME=@FILE`; a NAME may go one level down: `minter.roleArn`. @throws Failure usage */
export function fieldArgument(argument: string): FieldArgument {
  const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(argument) ?? [];
  const [first, second, ...more] = name.split('.');
  if (first === undefined || !isName(first) || (second !== undefined && !isName(second)) || more.length > 0)
    throw usage('--field takes NAME=VALUE or NAME=@FILE, such as privateKey=@key.pem or minter.type=aws-sts');
  const path = second === undefined ? ([first] as const) : ([first, second] as const);
  if (!value.startsWith('@')) return { path, text: value };
  if (value === '@' || value === '@-') throw usage(`--field ${name}=@ needs a file behind it`);
  return { path, file: value.slice(1) };
}

const isName = (text: string): boolean => /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(text);

/** Names of the members of a record; `provider` is an object that can hold a secret. */
const SHOWING = [...SECRET_FIELD_NAMES, 'provider'].map((name) => name.toLowerCase());

/** Whether the text of such a field on the command line shows a secret to other users of the machine. */
export const isSecretField = ({ path }: FieldArgument): boolean =>
  SHOWING.includes((path.at(-1) ?? '').toLowerCase());

/** The value that a field's text means. @throws Failure usage that names the field, and not what it holds */
export function fieldValue({ path }: FieldArgument, text: string): unknown {
  const name = path.join('.');
  switch (KINDS[name] ?? 'text') {
    case 'text':
      return text;
    case 'number':
      if (/^\d{1,9}$/.test(text)) return Number(text);
      throw usage(`--field ${name} is a whole number`);
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true';
      throw usage(`--field ${name} is true or false`);
    case 'list':
      return text.split(/[,\s]+/).filter((item) => item !== '');
    case 'object':
      return objectIn(name, text);
  }
}

function objectIn(name: string, text: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Said below: JSON's own message quotes the text.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw usage(`--field ${name} is a JSON object, best from a file: ${name}=@FILE`);
}

/** Puts a member where its path says. @throws Failure usage where it is set already */
export function withMember(members: Members, path: FieldArgument['path'], value: unknown): Members {
  const [first, second] = path;
  const { [first]: there } = members;
  if (second === undefined) {
    if (there !== undefined) throw twice(first);
    return { ...members, [first]: value };
  }
  if (there !== undefined && (typeof there !== 'object' || there === null)) throw twice(first);
  const inner = (there ?? {}) as Members;
  if (inner[second] !== undefined) throw twice(path.join('.'));
  return { ...members, [first]: { ...inner, [second]: value } };
}

const twice = (name: string): Error => usage(`${plainLine(name)} is given twice`);
