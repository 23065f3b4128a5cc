import { Time } from '../parts/time.tsx';

/** Whether the webhook answers the control plane. */
export const Answers = ({ yes }: { readonly yes: boolean }) =>
  yes ? <span className="text-good">Answers</span> : <span className="text-warn">Does not answer</span>;

/** That the webhook's copy of the log is late. @param props.since RFC 3339 */
export const Behind = ({ since }: { readonly since: string }) => (
  <span className="text-warn">
    Behind since <Time at={since} />
  </span>
);
