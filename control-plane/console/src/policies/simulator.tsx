import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { ActionForm, TextField, textOf } from '../parts/form.tsx';
import { Screen } from '../parts/screen.tsx';
import { callerQuery } from '../reach/queries.ts';
import { callIn, useAskedRequest } from './asked-request.ts';
import { EventWords } from './event-words.tsx';
import type { RequestSearch } from './request-search.ts';
import { SimulationResult } from './simulation-result.tsx';
import { NameField, TargetFields } from './target-fields.tsx';
import { type TargetType, targetNamed } from './targets.ts';
import { fieldTime } from './time-zone.ts';

const route = getRouteApi('/policies/simulate');

type Imagined = Schemas['ImaginedRequest'];

/** What the policies would decide about a request; the request is in the address. */
export function Simulator() {
  const search = route.useSearch();
  const { event, request, simulation, error, isPending } = useAskedRequest(search);
  return (
    <Screen title="Simulate a request" up={{ to: '/policies', name: 'Policies' }}>
      <p className="mt-1 text-dim">
        What the policies of now decide about a request. Nothing is asked for, and nothing is counted.
      </p>
      {event && (
        <p className="mt-3">
          <EventWords event={event} />
          {request === undefined &&
            ' It reports no request for a credential, so there is nothing to simulate.'}
        </p>
      )}
      <div className="mt-4 grid items-start gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
        <section aria-label="Request" className="card pt-2">
          {(request !== undefined || !isPending) && (
            <RequestForm key={JSON.stringify(request)} request={request} />
          )}
        </section>
        <div aria-live="polite" className={`grid gap-4 ${simulation ? 'max-lg:order-first' : ''}`}>
          {error && <Failure error={error} />}
          {isPending && <p className="text-dim">Loading…</p>}
          {!isPending && !error && simulation && request && (
            <SimulationResult {...{ simulation, request, event, search }} />
          )}
          {!isPending && request === undefined && search.event === undefined && (
            <p className="card text-dim">
              Choose who asks for what. In a terminal:{' '}
              <code>svault policies simulate --agent NAME --service NAME</code>
            </p>
          )}
        </div>
      </div>
    </Screen>
  );
}

function RequestForm({ request }: { readonly request: Imagined | undefined }) {
  const navigate = useNavigate();
  const { agentId, proxyId } = request ?? {};
  const callerId = proxyId ?? agentId;
  const { data: caller, isPending } = useQuery({
    ...callerQuery(callerId ?? ''),
    enabled: callerId !== undefined,
  });
  if (callerId !== undefined && isPending) return <p className="text-dim">Loading…</p>;
  const first =
    callerId === undefined ? undefined : callerOf(callerId, (caller?.agent ?? caller?.proxy)?.name);
  return (
    <ActionForm
      submit="Simulate"
      action={simulated}
      onDone={(search) => void navigate({ to: '/policies/simulate', search })}
    >
      <TargetFields types={['agent', 'proxy']} first={first} label="Who asks" />
      <NameField type="token" name="serviceName" label="Credential" defaultValue={request?.serviceName} />
      <TextField
        name="at"
        label="Time"
        type="datetime-local"
        step={1}
        hint="In the time of this computer. Empty: now."
        defaultValue={request?.at === undefined ? '' : fieldTime(request.at)}
      />
      <TextField
        name="ip"
        label="Address"
        hint="An IP address. Empty: not known."
        maxLength={50}
        spellCheck={false}
        className="font-mono text-sm"
        defaultValue={request?.ip}
      />
      <fieldset className="grid gap-4">
        <legend className="mb-2 font-semibold">What a proxy is asked</legend>
        <TextField
          name="call.method"
          label="Method"
          hint="Such as GET. Empty: POST for a tool, else GET."
          maxLength={20}
          spellCheck={false}
          className="font-mono text-sm"
          defaultValue={request?.call?.method}
        />
        <TextField
          name="call.path"
          label="Path"
          hint="At the upstream, such as /repos/acme/site. Empty: that of the proxy’s upstream."
          spellCheck={false}
          className="font-mono text-sm"
          defaultValue={request?.call?.path}
        />
        <TextField
          name="call.tool"
          label="Tool"
          hint="That an MCP client calls, without arguments."
          spellCheck={false}
          className="font-mono text-sm"
          defaultValue={request?.call?.tool}
        />
      </fieldset>
    </ActionForm>
  );
}

const callerOf = (targetId: string, targetName: string | undefined) => ({
  targetType: targetId.startsWith('prx_') ? ('proxy' as const) : ('agent' as const),
  targetId,
  ...(targetName !== undefined && { targetName }),
});

/** Asks first, so that what does not fit is said beside its field. @returns the address of the simulation */
async function simulated(values: FormData): Promise<RequestSearch> {
  const type = textOf(values, 'targetType') as TargetType;
  const { targetId } = await targetNamed(type, textOf(values, 'targetId'), 'targetId');
  const service = textOf(values, 'serviceName').trim();
  const time = textOf(values, 'at');
  const at = time === '' ? undefined : new Date(time).toISOString();
  const ip = textOf(values, 'ip').trim() || undefined;
  const [method, path, tool] = ['method', 'path', 'tool'].map((name) =>
    textOf(values, `call.${name}`).trim(),
  );
  const asked = { ...(method && { method }), ...(path && { path }), ...(tool && { tool }) };
  const known = { ...(at !== undefined && { at }), ...(ip !== undefined && { ip }) };
  const body = {
    serviceName: service,
    ...(type === 'proxy' ? { proxyId: targetId } : { agentId: targetId }),
    ...known,
    ...callIn(asked),
  };
  await answerOf(api.POST('/api/policies/simulate', { body }));
  const more = { ...known, ...asked };
  return { ...(type === 'proxy' ? { proxy: targetId } : { agent: targetId }), service, ...more };
}
