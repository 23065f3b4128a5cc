import { readFileSync } from 'node:fs';
import { Secret, fromBase64url } from '@svault/shared';
import { nearestName } from './nearest-name.ts';
import { CommandFailed, outputOfCommand } from './secret-command.ts';

/** One setting: how its text becomes a value. `parse` throws an Error whose message completes "NAME …". */
export interface Setting<T> {
  readonly parse: (text: string) => T;
  readonly fallback: { readonly value: T } | undefined;
  /** Whether `NAME_FILE` may name a file that holds the text. */
  readonly file: boolean | undefined;
  readonly description: string;
}

export interface SettingOptions<T> {
  readonly description: string;
  readonly default?: T;
  readonly file?: boolean;
}

type Spec = Readonly<Record<string, Setting<unknown>>>;
export type SettingValues<S extends Spec> = { [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** All that is wrong with the environment at once, so that an operator mends it in one round. */
export class SettingsError extends Error {
  readonly problems: readonly string[];
  /** Whether another start may find nothing wrong: commands of settings failed, and that is all. */
  readonly mayPass: boolean;
  constructor(problems: readonly string[], mayPass = false) {
    super(`invalid configuration:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'SettingsError';
    this.problems = problems;
    this.mayPass = mayPass;
  }
}

function setting<T>(parse: (text: string) => T, options: SettingOptions<T>): Setting<T> {
  const { description, file } = options;
  const fallback = 'default' in options ? { value: options.default } : undefined;
  return { parse, fallback, file, description };
}

export const text = (options: SettingOptions<string>): Setting<string> => setting((value) => value, options);

export const optionalText = (options: SettingOptions<string | undefined>): Setting<string | undefined> =>
  setting<string | undefined>((value) => value, { default: undefined, ...options });

/** Turns any kind into one that may be absent. */
export const optional = <T>(kind: Setting<T>): Setting<T | undefined> => ({
  ...kind,
  fallback: { value: undefined },
});

/** An absolute http(s) address without user info, query, fragment or trailing slash, given back as written. */
export const url = (options: SettingOptions<string>): Setting<string> =>
  setting((value) => {
    if (!URL.canParse(value)) throw new Error('is not an absolute URL');
    const parsed = new URL(value);
    if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')
      throw new Error('must start with https:// or http://');
    if (parsed.username !== '' || parsed.password !== '') throw new Error('must not carry user info');
    if (value.includes('?') || value.includes('#')) throw new Error('must have no query and no fragment');
    if (value.endsWith('/')) throw new Error('must not end with a slash');
    return value;
  }, options);

/**
 * Any kind with a further condition.
 * @param problemOf what is wrong with a value, completing "NAME …"; undefined where nothing is
 */
export const checked = <T>(kind: Setting<T>, problemOf: (value: T) => string | undefined): Setting<T> => ({
  ...kind,
  parse: (text) => {
    const value = kind.parse(text);
    const problem = problemOf(value);
    if (problem !== undefined) throw new Error(problem);
    return value;
  },
});

export interface ListenAddress {
  readonly host: string;
  /** 0 asks the system for a free port. */
  readonly port: number;
}

/** `HOST:PORT`, IPv6 in brackets. */
export const listenAddress = (options: SettingOptions<ListenAddress>): Setting<ListenAddress> =>
  setting((value) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(value);
    const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])];
    if (host === undefined || port > 65535) throw new Error('must look like 127.0.0.1:8080 or [::1]:8080');
    return { host, port };
  }, options);

export const secretText = (options: SettingOptions<Secret>): Setting<Secret> =>
  setting((value) => new Secret(value), options);

/** 32 bytes as base64url without padding, such as `openssl rand 32 | basenc --base64url | tr -d =` prints. */
export const key32 = (options: SettingOptions<Secret<Uint8Array>>): Setting<Secret<Uint8Array>> =>
  setting((value) => {
    const bytes = fromBase64url(value);
    if (bytes?.length !== 32)
      throw new Error('must be 32 bytes in base64url without padding (43 characters)');
    return new Secret(bytes);
  }, options);

/** Comma-separated entries, outer white space removed, empty ones dropped. */
export const list = (
  options: SettingOptions<readonly string[]> & { readonly entry?: (text: string) => void },
): Setting<readonly string[]> =>
  setting((value) => {
    const entries = value
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
    for (const entry of entries) options.entry?.(entry);
    return entries;
  }, options);

export const oneOf = <const T extends string>(
  choices: readonly T[],
  options: SettingOptions<T>,
): Setting<T> =>
  setting((value) => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`must be one of ${choices.join(', ')}`);
    return choice;
  }, options);

export const integer = (
  options: SettingOptions<number> & { readonly min: number; readonly max: number },
): Setting<number> =>
  setting((value) => {
    const parsed = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(parsed >= options.min && parsed <= options.max))
      throw new Error(`must be a whole number from ${options.min} to ${options.max}`);
    return parsed;
  }, options);

/** Whether `NAME_FILE` may name a file that holds the value. */
export const comesFromFile = (name: string, kind: Setting<unknown>): boolean =>
  kind.file ?? /_(?:KEY|SECRET|TOKEN)$/.test(name);

/** Whether `NAME_COMMAND` may be a command that prints the value: root keys alone. */
export const comesFromCommand = (name: string): boolean => /_MASTER_KEY(?:_NEXT)?$/.test(name);

const FILE_SUFFIX = '_FILE';
const COMMAND_SUFFIX = '_COMMAND';

/** What an operator does with a new key, by where the present one comes from. */
export function howToReplace(env: NodeJS.ProcessEnv, name: string): string {
  if (isSet(env, name + COMMAND_SUFFIX))
    return `Have the command of ${name}${COMMAND_SUFFIX} print the new key`;
  return isSet(env, name + FILE_SUFFIX)
    ? `Write the new key to the file that ${name}${FILE_SUFFIX} names`
    : `Set ${name} to the new key`;
}

/** Where an operator gives a key, by where the present one comes from. */
export function whereToGive(env: NodeJS.ProcessEnv, name: string): string {
  if (isSet(env, name + COMMAND_SUFFIX)) return `by the command of ${name}${COMMAND_SUFFIX}`;
  return isSet(env, name + FILE_SUFFIX) ? `in the file that ${name}${FILE_SUFFIX} names` : `as ${name}`;
}

/** An empty value counts as absent, as compose files write `NAME=` for "not set". */
const isSet = (env: NodeJS.ProcessEnv, name: string): boolean => (env[name] ?? '') !== '';

/**
 * Reads all settings of one program from its environment, once, at start.
 * @param spec the program's own settings; a name ending in `_KEY`, `_SECRET` or `_TOKEN` also comes as `…_FILE`, and a root key
 *   as `…_COMMAND`, which is run here
 * @param foreign names that another program reads from the same environment, and with `foreignPrefix` all that begin so
 * @param explainUnknown the problem that an unknown name is, where there is more to say than that it is unknown
 * @throws SettingsError listing every unknown, missing or malformed `SV_…` name; values are never repeated in it
 */
export function readSettings<S extends Spec>(
  spec: S,
  env: NodeJS.ProcessEnv,
  options: {
    readonly foreign: readonly string[];
    readonly foreignPrefix?: string;
    readonly explainUnknown?: (name: string) => string | undefined;
  },
): SettingValues<S> {
  const problems: string[] = [];
  let failedCommands = 0;
  const values: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(spec)) {
    try {
      const found = readValue(name, kind, env) ?? kind.fallback;
      if (found !== undefined) values[name] = found.value;
      else problems.push(`${name} is missing: ${kind.description}`);
    } catch (error) {
      if (error instanceof CommandFailed) failedCommands += 1;
      problems.push(`${name} ${(error as Error).message}`);
    }
  }
  const known = (name: string): boolean =>
    Object.hasOwn(spec, name) ||
    options.foreign.includes(name) ||
    (options.foreignPrefix !== undefined && name.startsWith(options.foreignPrefix));
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SV_') || known(name)) continue;
    if (isSource(name, spec, options.foreign)) continue;
    const problem = options.explainUnknown?.(name);
    const alike = nearestName(name, [...Object.keys(spec), ...options.foreign]);
    const hint = alike === undefined ? '' : `; did you mean ${alike}?`;
    problems.push(problem ?? `${name} is not a setting of this program${hint}`);
  }
  if (problems.length > 0) throw new SettingsError(problems, problems.length === failedCommands);
  return values as SettingValues<S>;
}

/** Whether a name says where the value of another setting comes from. */
function isSource(name: string, spec: Spec, foreign: readonly string[]): boolean {
  if (name.endsWith(COMMAND_SUFFIX)) {
    const base = name.slice(0, -COMMAND_SUFFIX.length);
    return comesFromCommand(base) && (Object.hasOwn(spec, base) || foreign.includes(base));
  }
  if (!name.endsWith(FILE_SUFFIX)) return false;
  const base = name.slice(0, -FILE_SUFFIX.length);
  const own = spec[base];
  return own === undefined ? foreign.includes(base) : comesFromFile(base, own);
}

function readValue<T>(
  name: string,
  kind: Setting<T>,
  env: NodeJS.ProcessEnv,
): { readonly value: T } | undefined {
  const [file, command] = [name + FILE_SUFFIX, name + COMMAND_SUFFIX];
  const sources = [name];
  if (comesFromFile(name, kind)) sources.push(file);
  if (comesFromCommand(name)) sources.push(command);
  const [source, ...others] = sources.filter((each) => isSet(env, each));
  if (source === undefined) return undefined;
  if (others.length > 0) throw new Error(`is given by ${[source, ...others].join(' and ')}: set one of them`);
  const given = env[source] ?? '';
  if (source === name) return { value: kind.parse(given) };
  if (source === file) return { value: kind.parse(readSecretFile(given)) };
  const printed = outputOfCommand(command, given, env);
  try {
    return { value: kind.parse(printed) };
  } catch (error) {
    const problem = `${(error as Error).message}; its command printed ${printed.length} bytes`;
    throw new Error(problem, { cause: error });
  }
}

function readSecretFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (error) {
    throw new Error(
      `cannot be read from its file: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
      {
        cause: error,
      },
    );
  }
}
