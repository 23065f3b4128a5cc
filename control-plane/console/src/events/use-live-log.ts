import { useEffect, useRef, useState } from 'react';
import { answerOf, api } from '../api/client.ts';
import { type LogFilter, filterQuery, isMatch } from './log-filter.ts';
import { type LiveLog, NO_LOG, followLog } from './live-log.ts';

/**
 * The newest events that a filter matches, as they are written; closed while the page is hidden.
 *
 * @param options.held keeps what is shown as it is
 */
export function useLiveLog(options: {
  readonly max: number;
  readonly filter: LogFilter;
  readonly enabled: boolean;
  readonly held: boolean;
}): LiveLog {
  const { max, filter, enabled, held } = options;
  const isVisible = useVisibility();
  const [log, setLog] = useState(NO_LOG);
  const following = useRef<ReturnType<typeof followLog>>(undefined);
  const asked = JSON.stringify(filter);

  useEffect(() => {
    if (!enabled || !isVisible) return undefined;
    const wanted = JSON.parse(asked) as LogFilter;
    const log = followLog({
      max,
      matches: (event) => isMatch(event, wanted),
      newest: async (signal) => {
        const query = { ...filterQuery(wanted), limit: max };
        return (await answerOf(api.GET('/api/audit', { signal, params: { query } }))).items;
      },
      onChange: setLog,
    });
    following.current = log;
    return () => log.close();
  }, [asked, enabled, isVisible, max]);
  useEffect(() => following.current?.hold(held), [held, asked, enabled, isVisible]);
  return log;
}

/** Whether the page is in sight. */
export function useVisibility(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const onChange = (): void => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', onChange);
    return () => document.removeEventListener('visibilitychange', onChange);
  }, []);
  return isVisible;
}
