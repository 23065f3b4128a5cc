import { useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { FILTER, useFilter } from '../parts/list.tsx';

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
      {label}
      <input
        ref={input}
        type="datetime-local"
        onChange={({ target }) => onChange(target.value)}
        className={FILTER}
      />
    </label>
  );
}

/** `YYYY-MM-DDTHH:MM` of the clock here. */
function localText(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
