import { useState } from 'react';
import { Choice } from '../parts/choice.tsx';
import { Steps } from '../parts/steps.tsx';
import { clientsOf } from './proxy-clients.ts';
import type { Proxy } from './queries.ts';

/** How clients call a proxy. @param props.apiKey undefined: a placeholder is shown */
export function ConnectProxy({
  proxy,
  apiKey,
}: {
  readonly proxy: Proxy;
  readonly apiKey: string | undefined;
}) {
  const clients = clientsOf(proxy);
  const [id, setId] = useState(clients[0]?.id ?? '');
  const client = clients.find((one) => one.id === id);
  return (
    <div className="mt-3 grid grid-cols-[minmax(0,1fr)] gap-4">
      <Choice
        legend="Program"
        name="program"
        options={clients.map((one) => [one.id, one.name])}
        value={id}
        onChange={setId}
      />
      {client && <Steps steps={client.steps({ ...proxy, key: apiKey })} />}
    </div>
  );
}
