/** Writes AMQP frames byte by byte, including invalid ones that no client library would write. */

const JSON_HEADERS = 0x8000 | 0x4000 | 0x2000;
/** RabbitMQ's smallest frame_max, less the frame overhead. */
const BODY_BYTES_MAX = 131_064;

export function frame(type: number, channel: number, payload: Buffer): Buffer {
  const before = Buffer.alloc(7);
  before.writeUInt8(type, 0);
  before.writeUInt16BE(channel, 1);
  before.writeUInt32BE(payload.length, 3);
  return Buffer.concat([before, payload, Buffer.from([206])]);
}

export function method(channel: number, classId: number, methodId: number, ...args: Buffer[]): Buffer {
  return frame(1, channel, Buffer.concat([short(classId), short(methodId), ...args]));
}

/** The frames of a JSON message after its method frame. */
export function content(channel: number, headers: Buffer, body: Buffer): Buffer {
  const properties = [shortText('application/json'), shortText('utf-8'), long(headers.length), headers];
  return Buffer.concat([
    contentHeader(channel, body.length, JSON_HEADERS, Buffer.concat(properties)),
    ...bodyFrames(channel, body),
  ]);
}

/** @param flags which properties follow */
export function contentHeader(channel: number, bodySize: number, flags: number, properties: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(bodySize));
  return frame(2, channel, Buffer.concat([short(60), short(0), size, short(flags), properties]));
}

export function bodyFrames(channel: number, body: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let from = 0; from < body.length; from += BODY_BYTES_MAX) {
    frames.push(frame(3, channel, body.subarray(from, from + BODY_BYTES_MAX)));
  }
  return frames;
}

/** A field of a table: its name, and its value with the tag before it. */
export function field(name: string, value: Buffer): Buffer {
  return Buffer.concat([shortText(name), value]);
}

export function tagged(tag: string, value: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(tag, 'latin1'), value]);
}

/** As py-amqp writes an integer that needs more than 32 bits. */
export function longInteger(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return tagged('L', bytes);
}

/** An array in an array in an array …, the innermost empty. */
export function nestedArrays(depth: number): Buffer {
  const lengths = Array.from({ length: depth }, (_, level) => tagged('A', long((depth - level - 1) * 5)));
  return Buffer.concat(lengths);
}

/** A table in a table in a table …, the innermost empty. */
export function nestedTables(depth: number): Buffer {
  const levels = Array.from({ length: depth - 1 }, (_, level) =>
    Buffer.concat([tagged('F', long((depth - level - 1) * 6)), Buffer.from([0])]),
  );
  return Buffer.concat([...levels, tagged('F', long(0))]);
}

export function sized(tag: string, value: Buffer): Buffer {
  return tagged(tag, Buffer.concat([long(value.length), value]));
}

export function short(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

export function long(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function shortText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

export function longText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([long(bytes.length), bytes]);
}
