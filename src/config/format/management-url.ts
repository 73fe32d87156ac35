/** The format of the address of RabbitMQ’s management API. It prints no password, and connects to nothing. */
import { type ManagementUrl, parseManagementUrl } from '../../broker/broker-url.ts';
import { type Format, format, isQuoted } from './formats.ts';
import { maskUrl } from './redaction.ts';

const EXPECTS = 'the address of the management API of RabbitMQ';

export const managementUrl: Format<ManagementUrl> = format(
  `${EXPECTS}: http://host:15672 or https://host:15671, with user:password@ before the host or not`,
  (text) => {
    if (isQuoted(text)) return { ok: false, expected: `${EXPECTS}, without quotes around it` };
    const parsed = parseManagementUrl(text);
    return parsed.ok
      ? { ok: true, value: parsed.url }
      : { ok: false, expected: `${EXPECTS} (${parsed.reason})` };
  },
  { show: maskUrl },
);
