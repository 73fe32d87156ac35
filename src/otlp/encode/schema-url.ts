/**
 * The version of OpenTelemetry’s semantic conventions that resources, spans and log records follow, as the URL of its schema. It
 * defines no attribute.
 */

/** Some attributes also have their former names, which backends still read. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0';
