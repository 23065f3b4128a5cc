import { Problem } from '../api/client.ts';
import { SecretField } from '../credentials/secret-field.tsx';
import { CheckField, TextField, textOf } from '../parts/form.tsx';
import type { RemoteServer } from './mcp-servers.ts';

/** What is made of a server of the file. Names of fields end with its number in the file. */
export function ServerFields({ server, index }: { readonly server: RemoteServer; readonly index: number }) {
  const { name, upstreamUrl, secret, headers } = server;
  const kept = Object.keys(headers);
  return (
    <fieldset className="card grid min-w-0 gap-4">
      <legend className="float-left font-semibold wrap-anywhere">
        <bdi>{name}</bdi>
      </legend>
      <p className="min-w-0 text-sm text-dim wrap-anywhere">
        <code>{upstreamUrl}</code>
        <br />
        {secret.value !== undefined && (
          <>
            The secret in <code>{secret.header}</code> is stored for this host and header alone.
          </>
        )}
        {kept.length > 0 && (
          <>
            {' '}
            Sent along as before: <code>{kept.join(', ')}</code>.
          </>
        )}
      </p>
      <CheckField name={`import ${index}`} label="Import" defaultChecked />
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <TextField name={`name ${index}`} label="Proxy" maxLength={100} defaultValue={name.trim()} />
        <TextField
          name={`serviceName ${index}`}
          label="Credential"
          hint="The name under which the webhook stores the secret."
          maxLength={128}
          spellCheck={false}
          defaultValue={name.trim().replaceAll('/', '-')}
        />
      </div>
      {secret.value === undefined && (
        <SecretField
          name={`secret ${index}`}
          label={`Secret for ${secret.header}`}
          hint="The file refers to it, and does not have it."
        />
      )}
    </fieldset>
  );
}

/**
 * What the fields say is to be imported.
 *
 * @param remote the servers of the file, with their secrets
 * @throws Problem that names the fields
 */
export function wantedIn(values: FormData, remote: readonly RemoteServer[]) {
  const wanted = remote.flatMap((server, index) =>
    values.has(`import ${index}`)
      ? [
          {
            index,
            server,
            proxyName: textOf(values, `name ${index}`).trim(),
            serviceName: textOf(values, `serviceName ${index}`).trim(),
            secret: server.secret.value ?? textOf(values, `secret ${index}`).trim(),
          },
        ]
      : [],
  );
  if (wanted.length === 0) throw new Problem('No server is chosen.');
  const issues: { path: string; message: string }[] = [];
  const taken = { name: new Set<string>(), serviceName: new Set<string>() };
  for (const { index, proxyName, serviceName, secret } of wanted) {
    const say = (field: string, message: string): void =>
      void issues.push({ path: `${field} ${index}`, message });
    for (const [field, text] of [
      ['name', proxyName],
      ['serviceName', serviceName],
    ] as const) {
      if (text === '') say(field, 'This is needed.');
      else if (taken[field].has(text.toLowerCase())) say(field, 'Another server of this file has this name.');
      taken[field].add(text.toLowerCase());
    }
    if (secret === '') say('secret', 'This is needed.');
  }
  if (issues.length > 0) throw new Problem('', issues);
  return wanted;
}
