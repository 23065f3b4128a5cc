import { type KeyboardEvent, useId, useState } from 'react';
import { SelectField, useFieldError } from '../parts/form.tsx';
import { COUNTRIES, countryIn } from './countries.ts';
import { type RuleOf, countryName } from './rule-words.ts';

/** Countries, added one by one by name or code. */
export function CountryFields({
  rule,
  path,
}: {
  readonly rule: RuleOf<'geo_restrict'>;
  readonly path: string;
}) {
  const name = `${path}.countries`;
  const [input, list] = [useId(), useId()];
  const [chosen, setChosen] = useState<readonly string[]>(rule.countries);
  const [typed, setTyped] = useState('');
  const [unknown, setUnknown] = useState<string>();
  const failed = useFieldError(name);
  const problem = unknown ?? (chosen.length === 0 ? failed : undefined);
  const add = (): void => {
    const codes = typed.split(/[,;]/).filter((text) => text.trim() !== '');
    const other = codes.find((text) => countryIn(text) === undefined);
    if (other !== undefined)
      return setUnknown(`“${other.trim()}” is no country. Give a name or a code, such as Germany or DE.`);
    setUnknown(undefined);
    setTyped('');
    setChosen([...new Set([...chosen, ...codes.flatMap((text) => countryIn(text) ?? [])])]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    add();
  };
  return (
    <>
      <SelectField
        name={`${path}.mode`}
        label="A request passes"
        defaultValue={rule.mode}
        options={[
          ['allow', 'only from these countries'],
          ['deny', 'not from these countries'],
        ]}
      />
      <fieldset name={name} className="grid gap-1">
        <label htmlFor={input} className="font-medium">
          Countries
        </label>
        {chosen.length > 0 && (
          <ul aria-label="Chosen countries" className="flex flex-wrap gap-1.5">
            {chosen.map((code) => (
              <li key={code} className="flex items-center rounded-md border border-line pl-2 text-sm">
                <input type="hidden" name={name} value={code} />
                {countryName(code)}
                <button
                  type="button"
                  className="cursor-pointer px-2 py-1 text-dim"
                  onClick={() => setChosen(chosen.filter((each) => each !== code))}
                >
                  <span aria-hidden="true">×</span>
                  <span className="sr-only">Remove {countryName(code)}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        <div className="flex gap-2">
          <input
            id={input}
            list={list}
            value={typed}
            aria-invalid={problem !== undefined}
            aria-describedby={`${input}-hint`}
            className="w-full rounded-md border border-dim bg-paper px-2.5 py-1.5 aria-invalid:border-warn"
            onChange={({ target }) => setTyped(target.value)}
            onKeyDown={onKeyDown}
            onBlur={add}
          />
          <datalist id={list}>
            {COUNTRIES.map(([code, country]) => (
              <option key={code} value={country} />
            ))}
          </datalist>
          <button type="button" className="button flex-none" onClick={add}>
            Add <span className="sr-only">the country</span>
          </button>
        </div>
        <p id={`${input}-hint`} className="text-sm text-dim">
          {problem === undefined ? (
            'A name or a code, such as Germany or DE.'
          ) : (
            <span className="text-warn">{problem}</span>
          )}
        </p>
      </fieldset>
    </>
  );
}
