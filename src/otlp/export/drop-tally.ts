/** Counts dropped items, and reports the counts at most once a second, so that a flood of drops does not flood the log. */
export type DropReason =
  /** The queue was full, or the item made room for another service. */
  | 'queue_full'
  /** The backend refused the item permanently. */
  | 'refused'
  /** The item was left when the time for the last export was up. */
  | 'stopped';

export type ReportDropped = (name: string, reason: DropReason, items: number) => void;

export type DropTally = ReturnType<typeof createDropTally>;

const REPORT_INTERVAL_MS = 1000;

export function createDropTally(report: ReportDropped) {
  const counts = new Map<DropReason, Map<string, number>>();
  let timer: NodeJS.Timeout | undefined;

  function reportAll(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const [reason, byName] of counts) {
      for (const [name, items] of byName) report(name, reason, items);
    }
    counts.clear();
  }

  return {
    count(name: string, reason: DropReason): void {
      const byName = counts.get(reason) ?? new Map<string, number>();
      counts.set(reason, byName.set(name, (byName.get(name) ?? 0) + 1));
      timer ??= setTimeout(reportAll, REPORT_INTERVAL_MS).unref();
    },
    /** Reports at once all counts that have not been reported yet. */
    reportAll,
  };
}
