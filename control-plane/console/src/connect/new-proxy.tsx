import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { answerOf, api } from '../api/client.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { ActionForm, textOf } from '../parts/form.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { ConnectProxy } from './connect-proxy.tsx';
import { DestinationWarning } from './destination-warning.tsx';
import { ProxyFields, placed, proxyIn } from './proxy-fields.tsx';
import type { Proxy } from './queries.ts';

/** Creates a proxy; then shows its key, and how it is used. */
export function NewProxy() {
  const navigate = useNavigate();
  const [created, setCreated] = useState<{ readonly proxy: Proxy; readonly key: string }>();
  if (created !== undefined) return <CreatedProxy proxy={created.proxy} apiKey={created.key} />;
  return (
    <Screen title="New proxy" up={{ to: '/connect', name: 'Connect' }}>
      <div className="card mt-4 max-w-2xl pt-2">
        <ActionForm
          submit="Create"
          action={create}
          onDone={setCreated}
          onCancel={() => void navigate({ to: '/connect' })}
        >
          <ProxyFields />
        </ActionForm>
      </div>
    </Screen>
  );
}

async function create(values: FormData) {
  const {
    serviceName,
    allowMissing,
    agentId,
    headerTemplates,
    queryTemplates,
    redirects,
    region,
    service,
    ...proxy
  } = await proxyIn(values);
  return answerOf(
    api.POST('/api/proxies', {
      body: {
        ...proxy,
        kind: textOf(values, 'kind') === 'http' ? 'http' : 'mcp',
        upstreamAuthType: (textOf(values, 'upstreamAuthType') || 'Token') as Proxy['upstreamAuthType'],
        ...(serviceName !== undefined && { serviceName }),
        ...(allowMissing && { allowMissing }),
        ...(agentId !== undefined && { agentId }),
        ...(headerTemplates !== undefined && { headerTemplates }),
        ...(queryTemplates !== undefined && { queryTemplates }),
        ...(redirects !== undefined && { redirects }),
        ...(region !== undefined && { region }),
        ...(service !== undefined && { service }),
      },
    }),
  ).catch(placed);
}

/** The key is in this screen alone, and gone when it is left. */
function CreatedProxy({ proxy, apiKey }: { readonly proxy: Proxy; readonly apiKey: string }) {
  const heading = useRef<HTMLSpanElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <Screen
      title="Proxy created"
      heading={
        <span ref={heading} tabIndex={-1} className="outline-none">
          <bdi>{proxy.name}</bdi> is created
        </span>
      }
      up={{ to: '/connect', name: 'Connect' }}
      actions={
        <Link to="/connect/$id" params={{ id: proxy.id }} className="button">
          Open the proxy
        </Link>
      }
    >
      <div className="mt-4 grid grid-cols-[minmax(0,1fr)] gap-4">
        <DestinationWarning proxy={proxy} />
        <section aria-label="Key" className="card">
          <OneTimeValue what="Its key" value={apiKey} />
        </section>
        <Section id="use" title="Use it">
          <ConnectProxy proxy={proxy} apiKey={apiKey} />
        </Section>
      </div>
    </Screen>
  );
}
