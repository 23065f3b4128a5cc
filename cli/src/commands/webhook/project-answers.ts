import { type ProjectValues, moreSettings } from '@svault/compose/webhook-project/env-file';
import type { SecretFile } from '@svault/compose/webhook-project/project-file';
import { TUNNEL_METHODS, type TunnelMethod } from '@svault/compose/webhook-project/tunnel-methods';
import { TUNNELS } from '@svault/compose/webhook-project/tunnels/tunnels';
import { type ActingLogin, actingLogin } from '../../contexts/acting-login.ts';
import { orElse, usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { askLine } from '../../secret-input/ask.ts';
import { readSecret } from '../../secret-input/read-secret.ts';
import type { Project } from '../../webhook-project/project-folder.ts';
import { ownSources } from '../../webhook-project/own-sources.ts';
import { readOther, readServiceUrl, readWebhookUrl } from '../../webhook-project/project-settings.ts';

interface Asked {
  readonly method: TunnelMethod;
  readonly given: ReadonlyMap<string, string>;
  /** The project that is there, whose .env stays. */
  readonly before: Project | undefined;
  readonly there: ReadonlySet<string>;
}

type Answers = Pick<ProjectValues, 'webhookUrl' | 'serviceUrl' | 'more'>;

const canAsk = ({ terminal }: Invocation): boolean => terminal.interactive.in && terminal.interactive.err;

/** @throws Failure usage where none is named and there is no terminal to ask on */
export async function chooseMethod(
  invocation: Invocation,
  named: TunnelMethod | undefined,
): Promise<TunnelMethod> {
  if (named !== undefined) return named;
  const choices = TUNNEL_METHODS.map((method) => `${method} (${TUNNELS[method].title})`).join(', ');
  if (!canAsk(invocation)) throw usage(`--method says how the control plane reaches the webhook: ${choices}`);
  const answer = (await askLine(invocation, `How does the control plane reach it: ${choices}?`)).trim();
  const method = TUNNEL_METHODS.find((each) => each === answer);
  if (method === undefined)
    throw usage(`there is no method ${answer}; choose one of ${TUNNEL_METHODS.join(', ')}`);
  return method;
}

/** All but secrets: of the project that is there; else of `--set`, of the login, or asked for. */
export async function gatherAnswers(invocation: Invocation, asked: Asked): Promise<Answers> {
  const { method, given, before } = asked;
  if (before !== undefined) return answersOf(before, asked);
  const login = given.has('SV_WEBHOOK_SERVICE_URL') ? undefined : await baseUrlOfLogin(invocation);
  const known = new Map(given);
  const sources = given.has('SVAULT_WEBHOOK_IMAGE') ? undefined : ownSources();
  if (sources !== undefined && !known.has('SVAULT_SOURCES')) known.set('SVAULT_SOURCES', sources);
  if (login !== undefined) known.set('SV_WEBHOOK_SERVICE_URL', login);
  if (!canAsk(invocation)) nothingMissing(asked, known);
  const valueOf = async (name: string, question: string): Promise<string> =>
    known.get(name) ?? (await askLine(invocation, question));
  const webhookUrl = readWebhookUrl(
    method,
    await valueOf('SV_WEBHOOK_URL', 'Address at which the webhook will be reached (https://…):'),
  );
  const serviceUrl = readServiceUrl(
    await valueOf('SV_WEBHOOK_SERVICE_URL', 'Address of the control plane that may bind it (https://…):'),
  );
  if (!hasImage(known)) known.set('SVAULT_SOURCES', await askLine(invocation, ASK_SOURCES));
  const more = moreSettings(method).flatMap((name) => {
    const text = known.get(name);
    return text === undefined ? [] : [[name, readOther(name, text)] as const];
  });
  return { webhookUrl, serviceUrl, more: Object.fromEntries(more) };
}

function answersOf({ method, values, folder }: Project, { given }: Asked): Answers {
  const { secret } = TUNNELS[method];
  const sources = values.get('SVAULT_SOURCES');
  const changed = [...given.keys()].filter((name) => name !== secret?.name);
  if (changed.length > 0) throw usage(`${folder}/.env stays as it is: change ${changed.join(', ')} there`);
  return {
    webhookUrl: readWebhookUrl(method, values.get('SV_WEBHOOK_URL') ?? ''),
    serviceUrl: readServiceUrl(values.get('SV_WEBHOOK_SERVICE_URL') ?? ''),
    more: sources === undefined ? {} : { SVAULT_SOURCES: sources },
  };
}

/** Whether it is said where the image comes from, which is on no registry. */
const hasImage = (known: ReadonlyMap<string, string>): boolean =>
  known.has('SVAULT_SOURCES') || known.has('SVAULT_WEBHOOK_IMAGE');

const ASK_SOURCES = 'Folder of a checkout of svault, from which the image is built:';

function nothingMissing({ method, given, there }: Asked, known: ReadonlyMap<string, string>): void {
  const { secret } = TUNNELS[method];
  const missing = ['SV_WEBHOOK_URL', 'SV_WEBHOOK_SERVICE_URL'].filter((name) => !known.has(name));
  const wanted = missing.map((name) => `--set ${name}=https://…`);
  if (!hasImage(known))
    wanted.push(
      '--set SVAULT_SOURCES=FOLDER (a checkout of svault, from which the image is built) or --set SVAULT_WEBHOOK_IMAGE=NAME (of one that docker has or can pull)',
    );
  if (wanted.length === 0) return;
  if (secret !== undefined && !given.has(secret.name) && !there.has(secret.path))
    wanted.push(`--set ${secret.name}=@FILE (or on stdin)`);
  throw usage(`missing: ${wanted.join(', ')}`);
}

/** @returns the tunnel's secret, where it takes one and has none yet */
export async function gatherSecret(
  invocation: Invocation,
  { method, given, there }: Asked,
): Promise<readonly SecretFile[]> {
  const { secret } = TUNNELS[method];
  if (secret === undefined) return [];
  const { name, path, question, problem, fileText } = secret;
  const value = given.get(name);
  if (there.has(path)) {
    if (value !== undefined)
      throw usage(`${path} is there and is never written over: change that file itself`);
    return [];
  }
  const source =
    value === undefined ? {} : value.startsWith('@') ? { file: value.slice(1) } : { argument: value };
  const read = await orElse(readSecret(invocation, { question, ...source }), (error) => {
    if (error.exit !== 'usage') throw error;
    throw error.saying(`${name}: ${error.message}; --set ${name}=@FILE names a file`);
  });
  const text = read.trim();
  const refused = problem(text);
  if (refused !== undefined) throw usage(`${name} ${refused}`);
  return [{ path, secret: fileText(text) }];
}

/** Of the current login; a project can be created without a login too. */
const baseUrlOfLogin = async (invocation: Invocation): Promise<string | undefined> =>
  (
    await orElse<ActingLogin | undefined>(actingLogin(invocation), (error) => {
      if (error.exit !== 'denied') throw error;
      return undefined;
    })
  )?.context.baseUrl;
