import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { Problem } from '../api/client.ts';
import { meQuery } from '../api/queries.ts';
import { kindOf } from '../credentials/kinds.ts';
import { SecretField } from '../credentials/secret-field.tsx';
import { Destination, mustBeKnown, mustTake } from '../credentials/store-form.tsx';
import { useOwnDocument } from '../credentials/use-own-document.ts';
import { type SecretDestination, useWebhook } from '../credentials/use-webhook.ts';
import { Snippet } from '../parts/copy.tsx';
import { ActionForm, textOf } from '../parts/form.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { FileProblem, type McpServers, parseMcpServers } from './mcp-servers.ts';
import { serverEntry } from './proxy-clients.ts';
import { ServerFields, wantedIn } from './server-fields.tsx';

/** Puts the servers of an MCP client's settings behind proxies, and gives settings without their secrets. */
export function ImportServers() {
  const webhook = useWebhook();
  const { data: me } = useQuery(meQuery);
  if (!useOwnDocument()) return null;
  return (
    <Screen title="Import mcpServers" up={{ to: '/connect', name: 'Connect' }}>
      {webhook === undefined || me === undefined ? (
        <p className="mt-4 text-dim">Loading…</p>
      ) : webhook === null ? (
        <p className="mt-4">
          No webhook is bound, so there is nowhere to store a secret. To bind one:{' '}
          <code>svault webhook bind</code>
        </p>
      ) : (
        <Import webhook={webhook} isAdmin={me.role === 'admin'} />
      )}
    </Screen>
  );
}

/** A server that is imported by now. */
interface Imported {
  readonly name: string;
  readonly key: string;
}

/** @returns a text that is in no state, and forgotten when the screen is left */
function useForgotten(): RefObject<string> {
  const text = useRef('');
  useEffect(
    () => () => {
      text.current = '';
    },
    [],
  );
  return text;
}

function Import(props: { readonly webhook: SecretDestination; readonly isAdmin: boolean }) {
  const { isAdmin } = props;
  // What the person was told counts, whatever the control plane says later.
  const [webhook] = useState(props.webhook);
  const settings = useForgotten();
  const [found, setFound] = useState<McpServers>();
  const [imported, setImported] = useState<readonly Imported[]>([]);
  const [root, setRoot] = useState<McpServers['root']>('mcpServers');

  const read = (values: FormData): Promise<void> => {
    const text = textOf(values, 'settings');
    try {
      const servers = withoutSecrets(parseMcpServers(text));
      setFound(servers);
      setRoot(servers.root);
      settings.current = text;
      return Promise.resolve();
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      return Promise.reject(new Problem(error.message, [{ path: 'settings', message: error.message }]));
    }
  };
  const importAll = async (values: FormData): Promise<void> => {
    mustBeKnown(webhook, values);
    const { remote } = parseMcpServers(settings.current);
    const wanted = wantedIn(values, remote);
    const text = kindOf('text');
    if (text) await mustTake(text, { isAdmin, webhook });
    await import('../parts/schemas-without-eval.ts');
    const { importServer } = await import('./import-server.ts');
    for (const { index, ...one } of wanted) {
      const { name } = one.server;
      const { key } = await importServer({ ...one, webhook: webhook.url, isAdmin }).catch(
        (error: unknown) => {
          if (!(error instanceof Problem)) throw error;
          const issues = error.issues.map(({ path, message }) =>
            ['name', 'serviceName', 'secret'].includes(path)
              ? { path: `${path} ${index}`, message }
              : { path: `name ${index}`, message: `${path} ${message}` },
          );
          throw new Problem(`${name}: ${error.message}`, issues);
        },
      );
      webhook.remember();
      setImported((before) => [...before, { name, key }]);
    }
    settings.current = '';
    setFound(undefined);
  };

  const isDone = imported.length > 0 && found === undefined;
  return (
    <div className="mt-4 grid max-w-3xl grid-cols-[minmax(0,1fr)] gap-4">
      {imported.length > 0 && <NewSettings imported={imported} root={root} />}
      {found === undefined && !isDone && (
        <div className="card">
          <ActionForm submit="Read" action={read}>
            <SecretField
              name="settings"
              label="mcpServers JSON"
              lines={12}
              file=".json,application/json"
              hint="The settings of Claude Code, Cursor, VS Code or another MCP client. They are read in this browser, and sent to nobody."
            />
          </ActionForm>
        </div>
      )}
      {found && (
        <ActionForm
          submit="Import"
          action={importAll}
          onCancel={() => {
            settings.current = '';
            setFound(undefined);
          }}
        >
          <div className="card">
            <Destination webhook={webhook} />
          </div>
          {found.remote.map((server, index) =>
            imported.some(({ name }) => name === server.name) ? null : (
              <ServerFields key={server.name} server={server} index={index} />
            ),
          )}
          <Others of={found} />
        </ActionForm>
      )}
    </div>
  );
}

/** What the screen shows of the servers: whether there is a secret, and not which. */
const withoutSecrets = ({ remote, ...rest }: McpServers): McpServers => ({
  ...rest,
  remote: remote.map((server) => ({
    ...server,
    secret: { ...server.secret, value: server.secret.value === undefined ? undefined : '' },
  })),
});

function Others({ of: { other } }: { readonly of: McpServers }) {
  if (other.length === 0) return null;
  return (
    <Section id="others" title="Not imported">
      <p className="mt-1 text-dim">These stay in your settings as they are.</p>
      <ul className="mt-2 grid gap-1.5">
        {other.map(({ name, reason }) => (
          <li key={name} className="wrap-anywhere">
            <bdi className="font-medium">{name}</bdi>: {reason}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function NewSettings({
  imported,
  root,
}: {
  readonly imported: readonly Imported[];
  readonly root: McpServers['root'];
}) {
  const heading = useRef<HTMLParagraphElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const servers = Object.fromEntries(imported.map(({ name, key }) => [name, serverEntry(key)]));
  return (
    <Section id="settings" title="New settings">
      <p ref={heading} tabIndex={-1} className="mt-1 outline-none">
        {imported.length === 1 ? '1 server is imported.' : `${imported.length} servers are imported.`} Put
        this in place of their entries. It has the keys of their proxies, and none of the secrets.
      </p>
      <div className="mt-2">
        <Snippet text={JSON.stringify({ [root]: servers }, undefined, 2)} what="New settings" />
      </div>
      <p className="mt-2">
        <Link to="/connect">See the proxies</Link>
      </p>
      <p className="mt-2 text-sm text-dim">
        Copy it now. The secrets were in a file: make new ones at their services where others could read it.
      </p>
    </Section>
  );
}
