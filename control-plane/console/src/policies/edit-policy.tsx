import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { ScreenNotLoaded } from '../parts/failure.tsx';
import { notify } from '../parts/notice.tsx';
import { Screen } from '../parts/screen.tsx';
import { useAskedRequest } from './asked-request.ts';
import { PolicyForm } from './policy-form.tsx';
import { type Policy, type Simulation, policyQuery } from './queries.ts';
import { type RuleChange, changeThatAllows } from './rule-changes.ts';

const route = getRouteApi('/policies/$id/edit');

/** A policy to be changed; with a request in the address, already changed so that a rule of it lets that through. */
export function EditPolicy() {
  const { id } = route.useParams();
  const { allow, ...search } = route.useSearch();
  const { data: policy, error: unread, refetch } = useQuery(policyQuery(id));
  const { event, simulation, error: unknown, isPending } = useAskedRequest(search);
  const error = unread ?? unknown;
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  if (policy === undefined || isPending || unknown) return <ScreenNotLoaded query={{ error, refetch }} />;
  const change = changeOf(policy, simulation, allow);
  const back = (): void => void navigate({ to: '/policies/$id', params: { id } });
  return (
    <Screen
      title={`Edit ${policy.name}`}
      heading={
        <>
          Edit <bdi>{policy.name}</bdi>
        </>
      }
      up={{ to: '/policies', name: 'Policies' }}
    >
      {change && (
        <p className="mt-2 wrap-anywhere">
          Changed below, and not saved yet: {change.words} The preview shows what else the change lets
          through.
        </p>
      )}
      <PolicyForm
        key={policy.id}
        policyId={policy.id}
        first={{ ...policy, rules: change?.rules ?? policy.rules }}
        event={event}
        onSaved={(saved) => {
          queryClient.setQueryData(policyQuery(id).queryKey, saved);
          notify('The policy is saved. It decides from the next request on.');
          back();
        }}
        onCancel={back}
      />
    </Screen>
  );
}

function changeOf({ id, rules }: Policy, simulation: Simulation | undefined, allow: string | undefined) {
  if (simulation === undefined || allow === undefined) return undefined;
  const denying = simulation.rules.find(
    ({ policyId, position }) => policyId === id && String(position) === allow,
  );
  if (denying === undefined) return undefined;
  const { words, rule }: RuleChange = changeThatAllows(denying.settings, {
    ...simulation,
    used: denying.used,
  });
  return { words, rules: rules.flatMap((each, at) => (at === denying.position ? (rule ?? []) : each)) };
}
