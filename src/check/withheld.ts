/** What a check says of questions that are not asked, since the worker might stop when it replies. Pure. */
import type { Withheld } from '../self/self-event.ts';
import type { Sightings } from './sightings.ts';
import { type Finding, finding, findingAbout } from './symptoms.ts';

/** Lines about single workers. */
const LINES_MAX = 20;

/** The workers of which something is not asked for that reason. */
export function withheldFor(kind: Withheld['kind'], { withheld: all }: Sightings): readonly string[] {
  return all.filter(({ why }) => why.kind === kind).map(({ worker }) => worker);
}

export function withheld(sightings: Sightings): readonly Finding[] {
  const settings = sightings.withheld.flatMap(({ worker, why }) =>
    why.kind === 'setting' ? [{ workers: worker, setting: why.path }] : [],
  );
  const more = settings.length - LINES_MAX;
  return [
    ...findingAbout('replies-unreadable', withheldFor('serializer', sightings)),
    ...settings.slice(0, LINES_MAX).map((each) => finding('setting-unencodable', each)),
    ...(more > 0 ? [finding('more-unencodable', { count: more })] : []),
    ...findingAbout('arguments-unsafe', withheldFor('version', sightings)),
    ...findingAbout('deafened-by-stats', withheldFor('deaf', sightings)),
  ];
}
