/** The compressions that kombu has and we read, and bombs in each. */
import { brotliCompressSync, constants, deflateSync, zstdCompressSync } from 'node:zlib';
import type { RawMessage } from '../../src/broker/broker.ts';
import { JSON_SHAPES } from './json-shapes.ts';
import { message } from './wire.ts';

type Compress = (plain: Buffer) => Buffer;

/** As small as with the default quality but for a hundredth, and several times as fast. */
const BROTLI = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 10 };
export const COMPRESSIONS = new Map<string, Compress>([
  ['application/x-gzip', (plain) => deflateSync(plain)],
  ['application/x-brotli', (plain) => brotliCompressSync(plain, { params: BROTLI })],
  ['application/zstd', (plain) => zstdCompressSync(plain)],
]);

/** Lists within lists, of eight megabytes. */
export function listBomb(compression: string, compress: Compress): RawMessage {
  const text = JSON_SHAPES['lists within lists']?.({ bytes: 8_000_000, tokens: 0 }) ?? '';
  return message(compress(Buffer.from(text)), { headers: { compression } });
}

/** The first kilobyte of sixteen megabytes. */
export function smallBomb(compression: string, compress: Compress): RawMessage {
  const body = compress(Buffer.alloc(16 * 1024 * 1024, ' ')).subarray(0, 1000);
  return message(body, { headers: { compression } });
}
