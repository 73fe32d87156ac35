/** The row of RabbitMQ and other AMQP 0-9-1 brokers. It opens no connection. */
import { type BrokerKind, brokerKind, numberFaults } from '../broker-kind.ts';
import { PORT_MAX, shownPlace } from '../server/address.ts';
import { currentPassword } from '../server/password-file.ts';
import { AMQP_CAUSES } from './causes.ts';
import { type AmqpUrl, HEARTBEAT_MAX_S, parseAmqpUrl } from './url.ts';

export const AMQP: BrokerKind<AmqpUrl, 'amqp', 'amqp'> = brokerKind({
  name: 'amqp',
  title: 'RabbitMQ',
  protocol: 'AMQP',
  schemes: {
    amqp: { form: 'address', parse: parseAmqpUrl },
    amqps: { form: 'address', parse: parseAmqpUrl, isSecure: true },
    pyamqp: { form: 'address', parse: parseAmqpUrl },
  },
  refusedSchemes: { librabbitmq: 'write amqp://' },
  options: {
    amqp: {
      schemes: ['amqp', 'amqps'],
      unused: ['no AMQP option', 'broker_url has no AMQP address'],
      only: 'AMQP only',
    },
  },
  system: 'rabbitmq',
  isReplay: false,
  hasExchanges: true,
  hasVisibilityTimeout: false,
  failedReplyStopsWorker: false,
  useSsl: { keys: 'py-amqp' },
  causes: AMQP_CAUSES,
  place: ({ host, port }) => ({ address: host, port, shown: shownPlace({ host, port }), isSingle: true }),
  secrets(url, { amqp }) {
    const password = currentPassword(url);
    // The user guest, which RabbitMQ has from the beginning, has no secret.
    const isGuest = url.username === 'guest' && password === 'guest';
    const { username = '', password: ofManagement = '' } = amqp.managementUrl?.login ?? {};
    return [isGuest ? '' : password, username === 'guest' ? '' : ofManagement];
  },
  parameters: ({ heartbeatS }) => ({ heartbeat: heartbeatS }),
  faults: ({ port, heartbeatS = 0 }) => [
    ...numberFaults('port', port, 1, PORT_MAX),
    ...numberFaults('heartbeatS', heartbeatS, 0, HEARTBEAT_MAX_S),
  ],
  atFullSpeed: (url) => url,
});
