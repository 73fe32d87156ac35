/**
 * Bounds the memory of the extra texts of held events, which only a listener of runs needs: texts beyond the limit are left out.
 * It holds no events.
 */
import type { Extras } from '../../celery/event.ts';
import { CHARACTER_BYTES } from '../measured-bytes.ts';

/** The bound in bytes per event: room for the ids of root and parent, and in every fourth event for a usual traceback. */
const BYTES_PER_EVENT = 1024;
/** Bytes of extras without the characters of their texts. */
const OBJECT_BYTES = 150;

export class HeldExtras {
  /** The bound on `bytes`. */
  readonly bytesMax: number;
  /** The memory of the extras of all held events, an upper estimate. */
  bytes = 0;
  /** From how many events texts were left out, completely or in part. */
  leftOut = 0;

  /** @param heldMax the most events that are held */
  constructor(heldMax: number) {
    this.bytesMax = heldMax * BYTES_PER_EVENT;
  }

  /** Takes the extras of an event. @returns the part that there is room for; half of the room is only for root and parent */
  take(extras: Extras): Extras | undefined {
    const bytes = bytesOf(extras);
    if (this.bytes + bytes <= this.bytesMax / 2) {
      this.bytes += bytes;
      return extras;
    }
    this.leftOut += 1;
    const { lineage } = extras;
    const essential = lineage && { lineage };
    if (essential === undefined || this.bytes + bytesOf(essential) > this.bytesMax) return undefined;
    this.bytes += bytesOf(essential);
    return essential;
  }

  /** Frees the memory of extras that `take` returned. */
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
