/** The likely causes of failed connections that only AMQP brokers have, and what to do. It decides nothing. Pure. */
import { says } from '../../text/connection-causes.ts';
import { atPorts, type BrokerCause } from '../server/causes.ts';
import { AS_REDIS } from '../server/redis-probe.ts';

/** The error of amqplib about a reply in another protocol. */
const OTHER_PROTOCOL = /\bFrame size \d+ exceeds/u;

export const AMQP_CAUSES: readonly BrokerCause[] = [
  {
    matches: (said) => said.endsWith(AS_REDIS),
    cause: '{at} is a Redis server',
    remedy: 'write redis{s}:// in broker_url, or the address of RabbitMQ',
  },
  {
    matches: atPorts(OTHER_PROTOCOL, 6379),
    cause: '{port} is the port of Redis',
    remedy: 'write redis:// in broker_url, or the port of RabbitMQ, 5672',
  },
  {
    matches: atPorts(OTHER_PROTOCOL, 15_671, 15_672),
    cause: '{port} is the port of RabbitMQ’s management page',
    remedy: 'use port 5672 in broker_url',
  },
  {
    matches: (said, situation) => !situation.isTls && atPorts(OTHER_PROTOCOL, 5671)(said, situation),
    cause: '{port} is the port of RabbitMQ for TLS',
    remedy: 'write amqps:// in broker_url',
  },
  {
    matches: says(/SASL mechanism PLAIN is not provided/u),
    cause: 'the broker does not accept passwords (it does not offer PLAIN)',
    remedy:
      'log in with a client certificate (broker_login_method EXTERNAL), or add PLAIN to its auth_mechanisms',
  },
  {
    matches: says(/SASL mechanism \S+ is not provided/u),
    cause: 'the broker does not offer this login_method',
    remedy: 'for EXTERNAL, enable its plugin rabbitmq_auth_mechanism_ssl, and add it to auth_mechanisms',
  },
  {
    matches: says(/Login was refused using authentication mechanism EXTERNAL/u),
    cause: 'the broker has no user with the name in the client certificate',
    remedy: 'add that user, or check ssl_cert_login_from in RabbitMQ',
  },
  {
    matches: (said, { username, isLocal }) =>
      username === 'guest' && !isLocal && /ACCESS.REFUSED - Login/u.test(said),
    cause: 'RabbitMQ accepts the user guest only from its own host',
    remedy: 'use another user and its password in broker_url',
  },
  {
    matches: says(/ACCESS.REFUSED - Login/u),
    cause: 'the broker does not know this user, or the password is wrong',
    remedy: 'correct both in broker_url; # / ? @ in them are percent-encoded',
  },
  {
    matches: says(/connection limit .*is reached/u),
    cause: 'the user or the virtual host has reached its connection limit',
    remedy:
      'raise the limit (rabbitmqctl set_user_limits or set_vhost_limits), or close unused connections; celery-otel has up to three',
  },
  {
    matches: says(/vhost .* is down/u),
    cause: 'the virtual host is down',
    remedy: 'find the reason in the log of RabbitMQ, and restart it (rabbitmqctl restart_vhost)',
  },
  {
    matches: says(/vhost .* not found/u),
    cause: 'there is no such virtual host',
    remedy: 'correct what follows the slash in broker_url, or add it (rabbitmqctl add_vhost)',
  },
  {
    matches: says(/access to vhost .* refused for user/u),
    cause: 'the user may not access this virtual host',
    remedy:
      'grant the permissions in it (rabbitmqctl set_permissions), or correct what follows the slash in broker_url',
  },
  {
    matches: says(OTHER_PROTOCOL),
    cause: '{at} is not RabbitMQ',
    remedy: 'correct the port in broker_url',
  },
];
