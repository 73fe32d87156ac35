/**
 * Bounds the extra texts of held events, which only a listener of finished runs needs: beyond the limit they are left
 * out. It holds no events.
 */
import type { Extras } from '../../celery/event.ts';
import { CHARACTER_BYTES } from '../measured-bytes.ts';

/** Room for a root and a parent in each event, and for a traceback of usual length in every fourth. */
const BYTES_PER_EVENT = 1024;
/** Without texts. */
const OBJECT_BYTES = 150;

export class HeldExtras {
  readonly bytesMax: number;
  bytes = 0;
  /** Events whose texts were left out, completely or in part. */
  leftOut = 0;

  /** @param heldMax the most events that are held */
  constructor(heldMax: number) {
    this.bytesMax = heldMax * BYTES_PER_EVENT;
  }

  /** @returns what there is room for; root and parent have priority */
  take(extras: Extras): Extras | undefined {
    const bytes = bytesOf(extras);
    if (this.bytes + bytes <= this.bytesMax / 2) {
      this.bytes += bytes;
      return extras;
    }
    this.leftOut += 1;
    const { lineage } = extras;
    const least = lineage && { lineage };
    if (least === undefined || this.bytes + bytesOf(least) > this.bytesMax) return undefined;
    this.bytes += bytesOf(least);
    return least;
  }

  release(extras: Extras): void {
    this.bytes -= bytesOf(extras);
  }
}

function bytesOf({ lineage, arguments: texts, error, result = '' }: Extras): number {
  let characters = result.length;
  if (lineage !== undefined) characters += lineage.rootId.length + lineage.parentId.length;
  if (texts !== undefined) characters += texts.args.length + texts.kwargs.length;
  if (error !== undefined) characters += error.path.length + error.message.length + error.stacktrace.length;
  return OBJECT_BYTES + CHARACTER_BYTES * characters;
}
