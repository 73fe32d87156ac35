/** Parses the address of a recording: `recording:FILE[?speed=N]` with N a positive number or `max`. */
import { failed, type Parsed } from '../../text/parsed.ts';
import type { BrokerAddress } from '../server/address.ts';

/** A file of recorded messages to replay. */
export interface RecordingUrl extends BrokerAddress {
  readonly scheme: 'recording';
  readonly file: string;
  /** 1 is the speed at which it was recorded; Infinity replays without waiting. */
  readonly speed: number;
}

/** @param rest what follows `recording:` */
export function parseRecordingUrl(rest: string): Parsed<{ readonly url: RecordingUrl }> {
  if (rest.startsWith('//')) {
    return failed('a recording is a path, not a URL: recording:FILE or recording:/path/to/FILE');
  }
  const [, file = '', query] = /^(.*?)(?:\?([^?]*))?$/s.exec(rest) ?? [];
  if (file === '') return failed('the recording has no file: recording:FILE[?speed=N]');
  const speed = query === undefined ? 1 : parseSpeed(query);
  if (speed === undefined) {
    return failed('a recording accepts only ?speed=N, with N a positive number or max');
  }
  return { ok: true, url: { scheme: 'recording', file, speed, label: `recording:${file}` } };
}

/** The speed of `speed=N`; undefined for anything else. */
function parseSpeed(query: string): number | undefined {
  if (query === 'speed=max') return Number.POSITIVE_INFINITY;
  const digits = /^speed=(\d+(?:\.\d+)?|\.\d+)$/.exec(query)?.[1];
  const speed = digits === undefined ? 0 : Number(digits);
  return speed > 0 && Number.isFinite(speed) ? speed : undefined;
}
