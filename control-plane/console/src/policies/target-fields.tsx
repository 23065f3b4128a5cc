import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { SelectField, TextField } from '../parts/form.tsx';
import { usePaused } from '../parts/use-paused.ts';
import type { ListedTarget } from './queries.ts';
import { TARGET_NAMES, type TargetType, namedQuery, targetText } from './targets.ts';

/** The name of an agent, a proxy or a credential, with those of the account as suggestions. */
export function NameField(props: {
  readonly type: TargetType;
  readonly name: string;
  readonly label: string;
  readonly defaultValue?: string | undefined;
  readonly required?: boolean;
  readonly onChange?: (text: string) => void;
}) {
  const { type, name, label, defaultValue = '', required = true, onChange } = props;
  const list = useId();
  const [typed, setTyped] = useState(defaultValue);
  const { data = [] } = useQuery(namedQuery(type, usePaused(typed)));
  return (
    <>
      <TextField
        name={name}
        label={label}
        required={required}
        maxLength={128}
        list={list}
        spellCheck={false}
        defaultValue={defaultValue}
        onInput={({ currentTarget: { value } }) => {
          setTyped(value);
          onChange?.(value);
        }}
      />
      <datalist id={list}>
        {data.map((each) => (
          <option key={each.id} value={each.name} />
        ))}
      </datalist>
    </>
  );
}

/** One agent, proxy or credential. */
export function TargetFields(props: {
  readonly types: readonly TargetType[];
  readonly first?: ListedTarget | undefined;
  readonly label: string;
}) {
  const { types, first, label } = props;
  const [type, setType] = useState(first?.targetType ?? types[0] ?? 'agent');
  return (
    <div className="grid items-start gap-3 sm:grid-cols-[9rem_minmax(0,1fr)]">
      <SelectField
        name="targetType"
        label={label}
        defaultValue={type}
        options={types.map((each) => [each, TARGET_NAMES[each]] as const)}
        onChange={({ target }) => setType(target.value as TargetType)}
      />
      <NameField
        key={type}
        type={type}
        name="targetId"
        label={`Name of the ${TARGET_NAMES[type].toLowerCase()}`}
        defaultValue={first?.targetType === type ? targetText(first) : ''}
      />
    </div>
  );
}
