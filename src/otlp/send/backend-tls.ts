/** Builds the TLS context for a backend from the PEM files of the settings. It ignores the environment. */
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { CeleryOtelError, reasonOf } from '../../text/errors.ts';
import type { ExporterSettings } from '../otlp-settings.ts';

type TlsFiles = Pick<ExporterSettings, 'certificateFile' | 'clientCertificateFile' | 'clientKeyFile'>;

/**
 * Reads the files once. The context trusts the CA certificates of the file, or those that Node trusts if no file is set.
 *
 * @throws CeleryOtelError `CONFIG_INVALID` for an unusable file, or a client certificate without its key
 */
export function backendSecureContext(files: TlsFiles): SecureContext {
  if ((files.clientCertificateFile === undefined) !== (files.clientKeyFile === undefined)) {
    throw new CeleryOtelError(
      'CONFIG_INVALID',
      'An OTLP exporter has a client certificate without its key, or a key without its certificate: set both.',
    );
  }
  try {
    return createSecureContext({
      ca: pem(files.certificateFile),
      cert: pem(files.clientCertificateFile),
      key: pem(files.clientKeyFile),
    });
  } catch (cause) {
    const message = `A TLS file of an OTLP exporter cannot be used: ${reasonOf(cause)}`;
    throw new CeleryOtelError('CONFIG_INVALID', message, { cause });
  }
}

function pem(file: string | undefined): Buffer | undefined {
  return file === undefined ? undefined : readFileSync(file);
}
