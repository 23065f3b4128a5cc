/** A list of texts of the protocol, a line each. */
export function Entries({ of, none }: { readonly of: readonly string[]; readonly none: string }) {
  if (of.length === 0) return <span className="text-dim">{none}</span>;
  return (
    <ul>
      {of.map((entry) => (
        <li key={entry}>
          <code>{entry}</code>
        </li>
      ))}
    </ul>
  );
}
