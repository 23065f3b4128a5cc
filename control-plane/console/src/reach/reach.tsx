import { getRouteApi } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Screen } from '../parts/screen.tsx';
import { AxisLists } from './axis-lists.tsx';
import { CellWindow } from './cell-window.tsx';
import { Matrix } from './matrix.tsx';
import { Pairs } from './pairs.tsx';
import { Picker } from './picker.tsx';
import { callersNamed, credentialsNamed } from './queries.ts';
import { Legend } from './state-mark.tsx';
import { useCallers, useCredentials } from './use-axes.ts';

const route = getRouteApi('/reach');

/** Which agent or proxy can reach which credential. */
export function ReachScreen() {
  const { agent, proxy, credential } = route.useSearch();
  const isAsked = (agent ?? proxy ?? credential) !== undefined;
  return (
    <Screen title="Reach">
      <Pickers />
      {isAsked ? <Pairs /> : <Overview />}
      <CellWindow />
    </Screen>
  );
}

function Pickers() {
  return (
    <div className="mt-3 grid gap-x-6 gap-y-3 sm:max-w-3xl sm:grid-cols-2">
      <Picker
        first
        label="What can this agent reach?"
        named={callersNamed}
        nothing="No agent or active proxy has this name."
      />
      <Picker
        label="Who can reach this credential?"
        named={credentialsNamed}
        nothing="No credential has this name."
      />
    </div>
  );
}

function Overview() {
  const callers = useCallers();
  const credentials = useCredentials();
  const isWide = useIsWide();
  const failed = [callers, credentials].find(({ error }) => error !== null);
  if (failed) return <Failure error={failed.error} reset={failed.retry} />;
  if (callers.items.length === 0 || credentials.items.length === 0) {
    if (callers.isLoading || credentials.isLoading) return <p className="mt-4 text-dim">Loading…</p>;
    return callers.items.length === 0 ? (
      <p className="mt-4">
        No agent yet. To create one: <code>svault agents create --name first</code>
      </p>
    ) : (
      <p className="mt-4">
        No credential yet. To store one: <code>svault add github</code>
      </p>
    );
  }
  if (!isWide) return <AxisLists callers={callers} credentials={credentials} />;
  return (
    <>
      <div className="mt-1 mb-2">
        <Legend />
      </div>
      <Matrix callers={callers} credentials={credentials} />
    </>
  );
}

const wide = window.matchMedia('(min-width: 48rem)');
const watch = (changed: () => void): (() => void) => {
  wide.addEventListener('change', changed);
  return () => wide.removeEventListener('change', changed);
};

/** Whether there is room for a matrix. */
const useIsWide = (): boolean => useSyncExternalStore(watch, () => wide.matches);
