import { type KeyboardEvent, useState } from 'react';
import { SelectField } from '../parts/form.tsx';
import { NameField } from './target-fields.tsx';
import type { ListedTarget } from './queries.ts';
import { TARGET_NAMES, type TargetType, targetIn, targetKey, targetNamed, targetText } from './targets.ts';

const TYPES = ['agent', 'proxy', 'token'] as const;

/** What a new policy is attached to, added one by one. The form has `attach` for each, and `attachName` for one that is typed. */
export function AttachFields({ first }: { readonly first: readonly ListedTarget[] }) {
  const [chosen, setChosen] = useState(first);
  const [type, setType] = useState<TargetType>('agent');
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState<string>();
  const [round, setRound] = useState(0);
  const add = async (): Promise<void> => {
    if (typed.trim() === '') return;
    try {
      const target = await targetNamed(type, typed, 'attachName');
      setChosen((before) => [...before.filter((each) => targetKey(each) !== targetKey(target)), target]);
      setProblem(undefined);
      setTyped('');
      setRound(round + 1);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    void add();
  };
  return (
    <fieldset className="grid gap-3" onKeyDown={onKeyDown}>
      <legend className="mb-2">
        <h2>Attached to</h2>
      </legend>
      {chosen.length === 0 ? (
        <p className="text-sm text-dim">
          Nothing yet. A policy decides about what it is attached to, now or later.
        </p>
      ) : (
        <ul aria-label="Attached to" className="flex flex-wrap gap-1.5">
          {chosen.map((target) => (
            <li
              key={targetKey(target)}
              className="flex min-w-0 items-center rounded-md border border-line pl-2 text-sm wrap-anywhere"
            >
              <input type="hidden" name="attach" value={targetKey(target)} />
              <span>
                <span className="text-dim">{TARGET_NAMES[target.targetType]}</span>{' '}
                <bdi>{targetText(target)}</bdi>
              </span>
              <button
                type="button"
                className="cursor-pointer px-2 py-1 text-dim"
                onClick={() => setChosen(chosen.filter((each) => each !== target))}
              >
                <span aria-hidden="true">×</span>
                <span className="sr-only">
                  Remove <bdi>{targetText(target)}</bdi>
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="grid items-start gap-3 sm:grid-cols-[9rem_minmax(0,1fr)_auto]">
        <SelectField
          name="attachType"
          label="Attach to"
          value={type}
          options={TYPES.map((each) => [each, TARGET_NAMES[each]] as const)}
          onChange={({ target }) => setType(target.value as TargetType)}
        />
        <NameField
          key={`${type} ${round}`}
          type={type}
          name="attachName"
          label={`Name of the ${TARGET_NAMES[type].toLowerCase()}`}
          required={false}
          onChange={setTyped}
        />
        <p className="sm:mt-7">
          <button type="button" className="button" onClick={() => void add()}>
            Add <span className="sr-only">the attachment</span>
          </button>
        </p>
      </div>
      <p role="status" className="text-sm text-warn empty:hidden">
        {problem}
      </p>
    </fieldset>
  );
}

/** The targets that the fields say. @throws ApiFailure for a name that is typed and that nothing has */
export async function targetsToAttach(values: FormData) {
  const targets = attachedIn(values);
  const typed = values.get('attachName');
  if (typeof typed !== 'string' || typed.trim() === '') return targets;
  const { targetType, targetId } = await targetNamed(
    values.get('attachType') as TargetType,
    typed,
    'attachName',
  );
  return [...targets, { targetType, targetId }];
}

/** The targets that were added. */
export const attachedIn = (values: FormData) =>
  values.getAll('attach').flatMap((key) => (typeof key === 'string' ? targetIn(key) : []));
