import { useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { FILTER, useFilter, useFilters } from '../parts/list.tsx';
import { zoneText } from '../parts/time.tsx';

const TYPING_MS = 400;

/** A time, typed as the clock here says it; the address has it in UTC, so that it means the same to everybody. */
export function TimeFilter({ name, label }: { readonly name: 'from' | 'to'; readonly label: string }) {
  const filter = useFilter();
  const { [name]: given = '' } = useSearch({ from: '/activity' });
  const input = useRef<HTMLInputElement>(null);
  const sent = useRef<string>(undefined);
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The address also changes by the back button and by links.
  useEffect(() => {
    if (input.current === null || given === sent.current) return;
    sent.current = given;
    input.current.value = given === '' ? '' : localText(new Date(given));
  }, [given]);
  useEffect(() => () => clearTimeout(typing.current), []);
  const onChange = (text: string): void => {
    const time = new Date(text);
    const value = Number.isNaN(time.getTime()) ? '' : time.toISOString();
    clearTimeout(typing.current);
    typing.current = setTimeout(() => {
      sent.current = value;
      filter(name, value);
    }, TYPING_MS);
  };
  return (
    <label className="col-span-2 text-sm sm:col-span-1">
      {label} ({zoneText()})
      <input
        ref={input}
        type="datetime-local"
        onChange={({ target }) => onChange(target.value)}
        className={FILTER}
      />
    </label>
  );
}

const AROUND_MS = 10 * 60_000;

/** A time of the clock here, such as `14:03`: shows the minutes around the last time that it was so late. */
export function AroundFilter() {
  const filter = useFilters();
  const { from, to } = useSearch({ from: '/activity' });
  const input = useRef<HTMLInputElement>(null);
  const sent = useRef<string>(undefined);
  // Another time was chosen elsewhere.
  useEffect(() => {
    if (input.current !== null && `${from} ${to}` !== sent.current) input.current.value = '';
  }, [from, to]);
  const onChange = (text: string): void => {
    const at = text === '' ? undefined : lastAt(text);
    if (text !== '' && at === undefined) return;
    const around = (ms: number): string => (at === undefined ? '' : new Date(at + ms).toISOString());
    const values = { from: around(-AROUND_MS), to: around(AROUND_MS) };
    sent.current = text === '' ? undefined : `${values.from} ${values.to}`;
    filter(values);
  };
  return (
    <label className="text-sm">
      Around ({zoneText()})
      <input
        ref={input}
        inputMode="numeric"
        placeholder="14:03"
        maxLength={5}
        autoComplete="off"
        onChange={({ target }) => onChange(target.value)}
        className={FILTER}
      />
    </label>
  );
}

/** When the clock here last showed a time. @returns undefined for what is no time */
function lastAt(text: string): number | undefined {
  const [, hours, minutes] = /^([01]?[0-9]|2[0-3]):([0-5][0-9])$/.exec(text) ?? [];
  if (hours === undefined) return undefined;
  const time = new Date();
  time.setHours(Number(hours), Number(minutes), 0, 0);
  if (time.getTime() > Date.now()) time.setDate(time.getDate() - 1);
  return time.getTime();
}

/** `YYYY-MM-DDTHH:MM` of the clock here. */
function localText(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
