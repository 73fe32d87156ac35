/** Small bodies that become large when they are decompressed. */
import { brotliCompressSync, constants, deflateSync, zstdCompressSync } from 'node:zlib';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';

const LARGE = Buffer.alloc(8 * 1024 * 1024);
/** 8 MiB of zeros, compressed to some kilobytes. */
export const BOMBS = new Map([
  ['application/x-gzip', deflateSync(LARGE)],
  // At its default quality brotli takes seconds for this.
  ['application/x-brotli', brotliCompressSync(LARGE, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['application/zstd', zstdCompressSync(LARGE)],
]);

/** To how many bytes a body may expand. */
export function allowedBytes({ length }: Buffer): number {
  return Math.min(length * BODY_LIMITS.expansion.max, BODY_LIMITS.expanded.max);
}
