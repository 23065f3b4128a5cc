import { useQuery } from '@tanstack/react-query';
import { awsScope } from '@svault/shared/schemas';
import { useId, useState } from 'react';
import { ApiFailure, Problem, answerOf, api } from '../api/client.ts';
import { credentialNamesQuery } from '../api/queries.ts';
import { CheckField, SelectField, TextAreaField, TextField, textOf } from '../parts/form.tsx';
import { usePaused } from '../parts/use-paused.ts';
import { destinationProblemOf } from './destination.ts';
import { type Proxy, agentNamesQuery } from './queries.ts';

const KINDS = [
  ['mcp', 'An MCP server'],
  ['http', 'An HTTP API'],
] as const;

const AUTH_TYPES = [
  ['Token', 'A credential'],
  ['sv_session', 'A session of an agent'],
] as const;

/** For an HTTP API, which takes no sessions. */
const HTTP_AUTH_TYPES = [
  ['Token', 'A credential'],
  ['aws_sigv4', 'A signature for AWS'],
] as const;

const AUTH_HINTS: Readonly<Record<Proxy['upstreamAuthType'], string>> = {
  Token: 'The webhook puts it into each call.',
  sv_session: 'For this upstream alone.',
  aws_sigv4: 'The webhook makes it with the credential, an access key.',
};

const DEFAULT_HEADERS = 'Authorization: Bearer ${TOKEN}';

/** The settings of a proxy. @param props.proxy the one to edit, whose kind and authentication are fixed */
export function ProxyFields(props: {
  readonly proxy?: Proxy | undefined;
  /** Of the agent that the proxy acts for. */
  readonly agentName?: string | undefined;
}) {
  const { proxy, agentName = '' } = props;
  const [kind, setKind] = useState<Proxy['kind']>(proxy?.kind ?? 'mcp');
  const [chosen, setChosen] = useState<Proxy['upstreamAuthType']>(proxy?.upstreamAuthType ?? 'Token');
  const authTypes = kind === 'http' ? HTTP_AUTH_TYPES : AUTH_TYPES;
  const authType = authTypes.find(([type]) => type === chosen)?.[0] ?? 'Token';
  const signs = authType === 'aws_sigv4';
  const [upstreamUrl, setUpstreamUrl] = useState(proxy?.upstreamUrl ?? '');
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="Such as github. No two active proxies have one name."
        required
        maxLength={100}
        defaultValue={proxy?.name}
      />
      {proxy === undefined && (
        <SelectField
          name="kind"
          label="It stands for"
          options={KINDS}
          onChange={({ target }) => {
            setKind(target.value === 'http' ? 'http' : 'mcp');
            setChosen('Token');
          }}
        />
      )}
      <TextField
        name="upstreamUrl"
        label={kind === 'http' ? 'Base URL' : 'MCP server'}
        hint={
          kind === 'http'
            ? 'Of the API, such as https://api.example.com/v1. What agents ask for follows it.'
            : 'Its address, such as https://mcp.example.com/mcp. Without secrets: those are credentials.'
        }
        required
        inputMode="url"
        spellCheck={false}
        maxLength={2_048}
        defaultValue={proxy?.upstreamUrl}
        check={addressProblem}
        onChange={({ target }) => setUpstreamUrl(target.value)}
      />
      {proxy === undefined && (
        <SelectField
          name="upstreamAuthType"
          label={kind === 'http' ? 'The API gets' : 'The server gets'}
          options={authTypes}
          hint={AUTH_HINTS[authType]}
          key={kind}
          onChange={({ target }) =>
            setChosen(authTypes.find(([type]) => type === target.value)?.[0] ?? 'Token')
          }
        />
      )}
      {signs && (
        <>
          <ScopeField part="region" label="AWS region" such="eu-central-1" {...{ proxy, upstreamUrl }} />
          <ScopeField part="service" label="AWS service" such="s3" {...{ proxy, upstreamUrl }} />
        </>
      )}
      {authType !== 'sv_session' && (
        <>
          <CredentialField defaultValue={proxy?.serviceName} upstreamUrl={upstreamUrl} />
          <CheckField
            name="allowMissing"
            label="Allow a name that no credential has yet"
            hint="Calls fail until the credential is stored."
          />
        </>
      )}
      <AgentField kind={authType} defaultValue={agentName} />
      <TextAreaField
        name="headerTemplates"
        label="Headers"
        hint={
          authType === 'Token'
            ? 'Sent along with each call, one a line. ${TOKEN} stands for the credential, ${BASIC:user} for HTTP Basic with it.'
            : 'Optional: sent along with each call, one a line.'
        }
        rows={3}
        spellCheck={false}
        className="font-mono text-sm"
        key={authType}
        defaultValue={headersText(proxy) ?? (authType === 'Token' ? DEFAULT_HEADERS : '')}
      />
      {kind === 'http' && (
        <>
          <TextAreaField
            name="queryTemplates"
            label="Query parameters"
            hint={
              signs
                ? 'Optional: added to each call, one a line as NAME=VALUE.'
                : 'Optional: added to each call, one a line as NAME=VALUE. If ${TOKEN} goes here alone, empty the headers.'
            }
            rows={2}
            spellCheck={false}
            className="font-mono text-sm"
            defaultValue={linesOf(proxy?.queryTemplates, '=')}
          />
          <CheckField
            name="redirects"
            label="Follow redirects to other origins, without the credential"
            hint="For downloads. Without it such redirects are denied."
            defaultChecked={proxy?.redirects !== undefined}
          />
        </>
      )}
    </>
  );
}

/** The region or service that requests are signed for, which many AWS host names imply. */
function ScopeField(props: {
  readonly part: 'region' | 'service';
  readonly label: string;
  readonly such: string;
  readonly proxy: Proxy | undefined;
  readonly upstreamUrl: string;
}) {
  const { part, label, such, proxy, upstreamUrl } = props;
  const told = URL.canParse(upstreamUrl)
    ? awsScope({ region: 'any', service: 'any', [part]: undefined }, upstreamUrl)?.[part]
    : undefined;
  return (
    <TextField
      name={part}
      label={label}
      hint={
        told === undefined
          ? `Such as ${such}. Optional where the host tells it.`
          : `Optional: the host tells ${told}.`
      }
      maxLength={64}
      spellCheck={false}
      defaultValue={proxy?.[part]}
      check={(text) =>
        text.trim() === '' && told === undefined ? 'This is needed: the host does not tell it.' : undefined
      }
    />
  );
}

/** What is wrong with an address, as far as a browser can say. */
function addressProblem(text: string): string | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    return 'This is no web address such as https://example.com.';
  if (url.username !== '' || url.password !== '')
    return 'The address has a password in it: store it as a credential.';
  return undefined;
}

function CredentialField(props: {
  readonly defaultValue: string | undefined;
  /** Where the credential would go. */
  readonly upstreamUrl: string;
}) {
  const { defaultValue, upstreamUrl } = props;
  const list = useId();
  const [typed, setTyped] = useState(defaultValue ?? '');
  const { data } = useQuery(credentialNamesQuery(usePaused(typed)));
  const held = data?.items.find(({ serviceName }) => serviceName === typed)?.webhook;
  const problem =
    held && !held.empty && URL.canParse(upstreamUrl)
      ? destinationProblemOf({ upstreamUrl }, typed, held)
      : undefined;
  return (
    <>
      <TextField
        name="serviceName"
        label="Credential"
        required
        maxLength={128}
        list={list}
        defaultValue={defaultValue}
        onChange={({ target }) => setTyped(target.value)}
        hint={
          problem && (
            <span className="text-warn">
              Each call would fail: {problem.text} In a terminal: <code>{problem.command}</code>
            </span>
          )
        }
      />
      <datalist id={list}>
        {data?.items.map(({ serviceName }) => (
          <option key={serviceName} value={serviceName} />
        ))}
      </datalist>
    </>
  );
}

function AgentField(props: { readonly kind: Proxy['upstreamAuthType']; readonly defaultValue: string }) {
  const { kind, defaultValue } = props;
  const list = useId();
  const [typed, setTyped] = useState('');
  const { data } = useQuery(agentNamesQuery(usePaused(typed)));
  return (
    <>
      <TextField
        name="agentId"
        label={kind === 'sv_session' ? 'Agent' : 'Agent (optional)'}
        hint={
          kind === 'sv_session'
            ? 'Whom the session acts as.'
            : 'While this agent is not active, calls are denied with AGENT_INACTIVE.'
        }
        required={kind === 'sv_session'}
        maxLength={100}
        list={list}
        defaultValue={defaultValue}
        onChange={({ target }) => setTyped(target.value)}
      />
      <datalist id={list}>
        {data?.items.map(({ id, name }) => (
          <option key={id} value={name} />
        ))}
      </datalist>
    </>
  );
}

const headersText = (proxy: Proxy | undefined): string | undefined =>
  proxy && linesOf(proxy.headerTemplates, ': ');

const linesOf = (templates: Readonly<Record<string, string>> = {}, between: string): string =>
  Object.entries(templates)
    .map(([name, value]) => name + between + value)
    .join('\n');

/** Members of a proxy, from the fields of `ProxyFields`. @throws ApiFailure that names the fields */
export async function proxyIn(values: FormData) {
  const [name, upstreamUrl, serviceName, agent] = ['name', 'upstreamUrl', 'serviceName', 'agentId'].map(
    (field) => textOf(values, field).trim(),
  ) as [string, string, string, string];
  return {
    ...{ name, upstreamUrl },
    serviceName: serviceName === '' ? undefined : serviceName,
    allowMissing: values.has('allowMissing') ? true : undefined,
    agentId: agent === '' ? undefined : await agentIdOf(agent),
    headerTemplates: headersIn(textOf(values, 'headerTemplates')),
    queryTemplates: parametersIn(textOf(values, 'queryTemplates')),
    ...{ region: optionalIn(values, 'region'), service: optionalIn(values, 'service') },
    redirects: values.has('redirects') ? ('follow-without-credential' as const) : undefined,
  };
}

/** @returns undefined where the field is empty, or not there */
const optionalIn = (values: FormData, field: string): string | undefined =>
  textOf(values, field).trim() || undefined;

async function agentIdOf(name: string): Promise<string> {
  const { items } = await answerOf(api.GET('/api/agents', { params: { query: { name, limit: 100 } } }));
  const agent = items.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (agent === undefined) throw besideField('agentId', 'No active or suspended agent has this name.');
  return agent.id;
}

const headersIn = (text: string) =>
  templatesIn(text, {
    field: 'headerTemplates',
    form: 'NAME: VALUE',
    line: /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(\S.*?)\s*$/,
    same: (name) => name.toLowerCase(),
  });

const parametersIn = (text: string) =>
  templatesIn(text, {
    field: 'queryTemplates',
    form: 'NAME=VALUE',
    line: /^\s*([^=\s]+)=(.*?)\s*$/,
    same: (name) => name,
  });

/** Parses one template a line. @param of.same the same text for spellings of one name */
function templatesIn(
  text: string,
  of: {
    readonly field: string;
    readonly form: string;
    readonly line: RegExp;
    readonly same: (name: string) => string;
  },
): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return undefined;
  const names = new Set<string>();
  return Object.fromEntries(
    lines.map((line, index) => {
      const [, name, value] = of.line.exec(line) ?? [];
      if (name === undefined || value === undefined)
        throw besideField(of.field, `Line ${index + 1} is not ${of.form}.`);
      if (names.has(of.same(name))) throw besideField(of.field, `Line ${index + 1} names ${name} again.`);
      names.add(of.same(name));
      return [name, value];
    }),
  );
}

/** The API names members; a form has fields. A name that is taken is answered as a conflict. */
export function placed(error: unknown): never {
  if (!(error instanceof ApiFailure)) throw error;
  if (error.code === 'CONFLICT' && /name/i.test(error.message))
    throw besideField('name', 'Another active proxy has this name.');
  const issues = error.issues.map(({ path, message }) => {
    const [field = '', ...member] = path.split('.');
    const name = member.join('.');
    return { path: field, message: name === '' ? message : `${name} ${message}` };
  });
  throw new ApiFailure(error.status, { error: error.message, code: error.code, issues });
}

const besideField = (path: string, message: string): Problem => new Problem(message, [{ path, message }]);
