import { isObject } from '../json.ts';

/** PROTOCOL.md section 5.3: names that no storage operation may carry, whatever their letter case. */
export const SECRET_FIELD_NAMES: readonly string[] = [
  'accessToken',
  'refreshToken',
  'value',
  'secret',
  'otpauthUri',
  'clientSecret',
  'clientAssertion',
  'privateKey',
  'certificate',
  'minter',
  'secretAccessKey',
  'password',
  'passphrase',
];

const LOWER_CASE_NAMES = new Set(SECRET_FIELD_NAMES.map((name) => name.toLowerCase()));

/**
 * The first member of a storage operation that has a secret's name, at any depth; undefined if there is none.
 * Names in the operation's own `headerTemplates` and `queryTemplates` are exempt: there a name is data.
 * @param operation one operation, not a batch
 */
export function secretFieldIn(operation: unknown): string | undefined {
  if (!isObject(operation)) return anySecretName(operation);
  const { headerTemplates, queryTemplates, ...others } = operation;
  const templates = [headerTemplates, queryTemplates].map((named) =>
    isObject(named) ? Object.values(named) : named,
  );
  return anySecretName(others) ?? anySecretName(templates);
}

function anySecretName(value: unknown): string | undefined {
  if (Array.isArray(value)) return firstIn(value);
  if (!isObject(value)) return undefined;
  const name = Object.keys(value).find((key) => LOWER_CASE_NAMES.has(key.toLowerCase()));
  return name ?? firstIn(Object.values(value));
}

function firstIn(values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const name = anySecretName(value);
    if (name !== undefined) return name;
  }
  return undefined;
}
