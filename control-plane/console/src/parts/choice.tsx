/** One of a few, all of which are seen. */
export function Choice(props: {
  readonly legend: string;
  readonly name: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { legend, name, options, value, onChange } = props;
  return (
    <fieldset>
      <legend className="text-sm text-dim">{legend}</legend>
      <div className="mt-1 flex flex-wrap gap-1.5">
        {options.map(([option, text]) => (
          <label
            key={option}
            className="cursor-pointer rounded-md border border-line px-2.5 py-1 text-[0.925rem] has-checked:border-accent has-checked:bg-accent/10 has-checked:font-medium has-checked:text-accent has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name={name}
              value={option}
              checked={option === value}
              onChange={() => onChange(option)}
              className="sr-only"
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
