import type { ReportedCheck } from '../report/report.ts';
import type { Io } from './io.ts';

/** Says on stderr where a run is. */
interface Progress {
  onCheck(check: ReportedCheck, done: number): void;
  end(): void;
}

/** On a terminal one line that changes; elsewhere a line for each area, as it ends. */
export function progressOn(io: Io, total: number): Progress {
  if (io.status !== undefined) {
    const status = io.status.bind(io);
    let failed = 0;
    return {
      onCheck({ id, verdict }, done) {
        if (verdict === 'failed') failed += 1;
        status(`${done} of ${total}${failed > 0 ? `, ${failed} failed` : ''}: ${id}`);
      },
      end: () => status(''),
    };
  }
  let area: string | undefined;
  let last = 0;
  const print = (): void => {
    if (area !== undefined) io.err(`${last} of ${total}: ${area}`);
  };
  return {
    onCheck(check, done) {
      if (area !== check.area) print();
      area = check.area;
      last = done;
    },
    end: print,
  };
}
