import { useState } from 'react';
import { Choice } from '../parts/choice.tsx';
import { Steps } from '../parts/steps.tsx';
import { PROXY_CLIENTS } from './proxy-clients.ts';

/** What MCP clients are told to call a proxy. @param props.apiKey undefined: something else stands for it */
export function ConnectProxy({
  name,
  apiKey,
}: {
  readonly name: string;
  readonly apiKey: string | undefined;
}) {
  const [id, setId] = useState('claude-code');
  const client = PROXY_CLIENTS.find((one) => one.id === id);
  return (
    <div className="mt-3 grid grid-cols-[minmax(0,1fr)] gap-4">
      <Choice
        legend="Program"
        name="program"
        options={PROXY_CLIENTS.map((one) => [one.id, one.name])}
        value={id}
        onChange={setId}
      />
      {client && <Steps steps={client.steps({ name, key: apiKey })} />}
    </div>
  );
}
