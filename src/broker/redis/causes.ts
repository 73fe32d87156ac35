/** The likely causes of failed connections that only Redis has, and what to do. It decides nothing. Pure. */
import { says } from '../../text/connection-causes.ts';
import { atPorts, type BrokerCause } from '../server/causes.ts';

/** The error of ioredis about a reply in another protocol. */
const OTHER_PROTOCOL = /Unknown RESP type/u;

export const REDIS_CAUSES: readonly BrokerCause[] = [
  {
    matches: says(/^connect (?:ENOENT|EACCES)/u),
    cause: 'the socket {at} cannot be opened',
    remedy: 'start Redis, or correct the path in broker_url or the permissions of the file',
  },
  {
    // The first byte of an AMQP server’s reply to anything but AMQP.
    matches: says(/Unknown RESP type 65\b/u),
    cause: '{at} is a RabbitMQ server',
    remedy: 'write amqp{s}:// in broker_url, or the address of Redis',
  },
  {
    matches: atPorts(OTHER_PROTOCOL, 5671, 5672),
    cause: '{port} is the port of RabbitMQ',
    remedy: 'write amqp:// in broker_url, or the port of Redis, 6379',
  },
  {
    matches: (said, { scheme }) => scheme === 'sentinel' && /WRONGPASS|NOAUTH|ERR AUTH/u.test(said),
    cause: 'the sentinels or the master expect another password',
    remedy: 'set sentinel_password for the sentinels, and the password in broker_url for the master',
  },
  {
    matches: says(/knows no master/u),
    cause: 'the sentinels have no master with this name',
    remedy: 'set master_name to the name in their "sentinel monitor" line',
  },
  {
    matches: says(/WRONGPASS|ERR invalid password/u),
    cause: 'Redis does not know this user, or the password is wrong',
    remedy: 'correct both in broker_url; # / ? @ in them are percent-encoded',
  },
  {
    matches: says(/NOAUTH/u),
    cause: 'Redis requires a password',
    remedy: 'write it in broker_url, as in redis://:PASSWORD@host',
  },
  {
    matches: says(/^ERR (?:AUTH|Client sent AUTH)/u),
    cause: 'Redis has no password, but broker_url has one',
    remedy: 'remove it there, or set requirepass in Redis',
  },
  {
    matches: says(/DENIED Redis is running in protected mode/u),
    cause: 'Redis is in protected mode and accepts only its own host',
    remedy: 'set a password (requirepass)',
  },
  {
    matches: says(/max number of clients reached/u),
    cause: 'Redis has reached maxclients',
    remedy: 'raise maxclients, or close unused clients',
  },
  {
    matches: says(OTHER_PROTOCOL),
    cause: '{at} is not Redis',
    remedy: 'correct the port in broker_url',
  },
];
