import { Field } from '@base-ui/react/field';
import { useId, useState } from 'react';
import { TextField } from '../parts/form.tsx';
import { DAYS, type RuleOf, type TimeWindow } from './rule-words.ts';
import { isZone } from './time-zone.ts';
import { useItems } from './use-items.ts';

const OFFICE_HOURS: TimeWindow = { days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' };

/** A zone, and the windows in its local time. */
export function TimeWindowFields({
  rule,
  path,
}: {
  readonly rule: RuleOf<'time_window'>;
  readonly path: string;
}) {
  const zones = useId();
  const { items, add, remove } = useItems(rule.windows);
  return (
    <>
      <TextField
        name={`${path}.timezone`}
        label="Time zone"
        hint="An IANA name, such as Europe/London."
        required
        list={zones}
        spellCheck={false}
        defaultValue={rule.timezone}
        check={(text) =>
          isZone(text.trim()) ? undefined : 'Give the name of a time zone, such as Europe/London.'
        }
      />
      <datalist id={zones}>
        {Intl.supportedValuesOf('timeZone').map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <ul className="grid gap-3">
        {items.map(({ key, item }, at) => (
          <li key={key}>
            <WindowFields
              window={item}
              path={`${path}.windows.${at}`}
              name={`Window ${at + 1}`}
              onRemove={items.length > 1 ? () => remove(key) : undefined}
            />
          </li>
        ))}
      </ul>
      <p>
        <button type="button" className="button" onClick={() => add(OFFICE_HOURS)}>
          Add a window
        </button>
      </p>
    </>
  );
}

function WindowFields(props: {
  readonly window: TimeWindow;
  readonly path: string;
  readonly name: string;
  readonly onRemove: (() => void) | undefined;
}) {
  const { window, path, name, onRemove } = props;
  const [times, setTimes] = useState({ start: window.start, end: window.end });
  return (
    <fieldset className="grid gap-2 rounded-md border border-line px-3 pt-1 pb-3">
      <legend className="px-1 text-sm text-dim">{name}</legend>
      <Field.Root name={`${path}.days`} className="grid gap-1">
        <div role="group" aria-label="Days on which it begins" className="flex flex-wrap gap-1.5">
          {DAYS.map((day, at) => (
            <label
              key={day}
              className="flex cursor-pointer items-center gap-1.5 rounded-md border border-line px-2 py-1 text-sm has-checked:border-accent"
            >
              <input
                type="checkbox"
                name={`${path}.days`}
                value={at + 1}
                defaultChecked={window.days.includes(at + 1)}
                className="size-4 accent-accent"
              />
              {day}
            </label>
          ))}
        </div>
        <Field.Error className="text-sm text-warn" />
      </Field.Root>
      <div className="grid items-start gap-3 sm:grid-cols-[9rem_9rem_auto]">
        <TextField
          name={`${path}.start`}
          label="From"
          type="time"
          required
          defaultValue={window.start}
          onInput={({ currentTarget: { value } }) => setTimes({ ...times, start: value })}
        />
        <TextField
          name={`${path}.end`}
          label="To"
          type="time"
          required
          defaultValue={window.end}
          hint={
            times.end !== '' && times.end !== '00:00' && times.end < times.start
              ? 'On the next day.'
              : undefined
          }
          onInput={({ currentTarget: { value } }) => setTimes({ ...times, end: value })}
        />
        {onRemove && (
          <p className="sm:mt-7 sm:justify-self-end">
            <button type="button" className="button" onClick={onRemove}>
              Remove <span className="sr-only">{name}</span>
            </button>
          </p>
        )}
      </div>
    </fieldset>
  );
}
