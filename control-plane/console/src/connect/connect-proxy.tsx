import { useState } from 'react';
import { Choice } from '../parts/choice.tsx';
import { Steps } from '../parts/steps.tsx';
import { API_CLIENTS, PROXY_CLIENTS } from './proxy-clients.ts';
import type { Proxy } from './queries.ts';

/** What clients are told to call a proxy. @param props.apiKey undefined: something else stands for it */
export function ConnectProxy({
  proxy: { kind, name },
  apiKey,
}: {
  readonly proxy: Proxy;
  readonly apiKey: string | undefined;
}) {
  const clients = kind === 'http' ? API_CLIENTS : PROXY_CLIENTS;
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
      {client && <Steps steps={client.steps({ name, key: apiKey })} />}
    </div>
  );
}
