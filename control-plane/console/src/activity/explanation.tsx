import { CONTROL_PLANE_ERRORS, type ErrorDescription, WEBHOOK_ERRORS } from '@svault/shared/error-catalog';

const OF_THE_CONTROL_PLANE: Readonly<Record<string, ErrorDescription>> = CONTROL_PLANE_ERRORS;
const OF_THE_WEBHOOK: Readonly<Record<string, ErrorDescription>> = WEBHOOK_ERRORS;

/** What a code means and what to do about it, as the catalogue of errors says it. @param props.by who sent it */
export function Explanation({
  code,
  by,
}: {
  readonly code: string;
  readonly by: 'control-plane' | 'webhook';
}) {
  const [first, second] =
    by === 'webhook' ? [OF_THE_WEBHOOK, OF_THE_CONTROL_PLANE] : [OF_THE_CONTROL_PLANE, OF_THE_WEBHOOK];
  const known = [first, second].find((codes) => Object.hasOwn(codes, code))?.[code];
  return (
    <div className="mt-2 grid gap-2">
      {known === undefined ? (
        <p>The code is all that was recorded.</p>
      ) : (
        <>
          <p>{known.meaning}</p>
          <p>
            <span className="font-medium">What to do:</span> {known.remedy}
          </p>
        </>
      )}
      <p className="text-sm text-dim">
        Code <code>{code}</code>
      </p>
    </div>
  );
}
