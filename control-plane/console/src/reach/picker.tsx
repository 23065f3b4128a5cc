import { type UseQueryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useId, useState } from 'react';
import { usePaused } from '../parts/use-paused.ts';
import type { Found } from './queries.ts';

/**
 * A field for a name, with suggestions, that leads to what has the name.
 *
 * @param props.named what a text may mean
 * @param props.nothing what is said where nothing has the name
 */
export function Picker<Key extends readonly string[]>(props: {
  readonly label: string;
  readonly named: (text: string) => UseQueryOptions<readonly Found[], Error, readonly Found[], Key>;
  readonly nothing: string;
  /** `/` leads to it. */
  readonly first?: boolean;
}) {
  const { label, named, nothing, first } = props;
  const id = useId();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string>();
  const { data: suggestions = [] } = useQuery(named(usePaused(text.trim())));

  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const name = text.trim();
    if (name === '') return;
    void queryClient.query(named(name)).then(
      (all) => {
        const same = all.find((found) => found.name.toLowerCase() === name.toLowerCase());
        const found = same ?? (all.length === 1 ? all[0] : undefined);
        if (found === undefined)
          return setProblem(all.length === 0 ? nothing : 'More than one matches: type all of the name.');
        setText('');
        return void navigate({ to: '/reach', search: found.search });
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : nothing),
    );
  };
  return (
    <form onSubmit={submit} className="grid content-start gap-1" autoComplete="off">
      <label htmlFor={`${id}-field`} className="text-sm font-medium">
        {label}
      </label>
      <div className="flex gap-2">
        <input
          {...(first && { 'data-search': '' })}
          id={`${id}-field`}
          list={`${id}-list`}
          value={text}
          maxLength={200}
          aria-invalid={problem !== undefined}
          aria-describedby={`${id}-problem`}
          onChange={({ target }) => {
            setText(target.value);
            setProblem(undefined);
          }}
          className="min-w-0 grow rounded-md border border-dim bg-paper px-2.5 py-1.5 aria-invalid:border-warn"
        />
        <button type="submit" className="button">
          Show
        </button>
      </div>
      <datalist id={`${id}-list`}>
        {suggestions.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p id={`${id}-problem`} role="status" className="text-sm text-warn wrap-anywhere">
        {problem}
      </p>
    </form>
  );
}
