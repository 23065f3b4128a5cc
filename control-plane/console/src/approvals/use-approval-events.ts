import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { AuditEvent } from '../events/event-words.ts';
import { followLog } from '../events/live-log.ts';
import { useVisibility } from '../events/use-live-log.ts';

/** Whether an event changes what waits for a decision. */
const isOfApproval = ({ eventType }: AuditEvent): boolean => eventType.startsWith('APPROVAL_');

/** Reads anew what the screens show of approvals, as soon as one is asked for or decided; closed while the page is hidden. */
export function useApprovalEvents(): void {
  const queryClient = useQueryClient();
  const isVisible = useVisibility();
  useEffect(() => {
    if (!isVisible) return undefined;
    let known = '';
    const log = followLog({
      max: 1,
      matches: isOfApproval,
      newest: () => Promise.resolve([]),
      onChange: ({ status, events }) => {
        // Also where the connection comes back: what happened meanwhile was not seen.
        const now = `${status} ${events[0]?.seq ?? ''}`;
        if (now !== known && status === 'live')
          void queryClient.invalidateQueries({ queryKey: ['approvals'] });
        known = now;
      },
    });
    return () => log.close();
  }, [isVisible, queryClient]);
}
