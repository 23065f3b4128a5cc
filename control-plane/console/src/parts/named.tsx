/** The label of one of several like buttons, with what it is for. */
export function Named({ what, of }: { readonly what: string; readonly of: string }) {
  return (
    <>
      {what}
      <span className="sr-only"> {of}</span>
    </>
  );
}
