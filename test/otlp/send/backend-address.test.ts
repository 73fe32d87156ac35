import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExporterSettings } from '../../../src/otlp/otlp-settings.ts';
import { backendAddress } from '../../../src/otlp/send/backend-address.ts';

type Case = readonly [
  protocol: ExporterSettings['protocol'],
  endpoint: string,
  to: readonly [isTls: boolean, host: string, port: string, path: string],
  shown: string,
  insecure?: boolean,
];

const CASES: readonly Case[] = [
  ['grpc', 'http://collector:4317', [false, 'collector', '4317', '/'], 'http://collector:4317'],
  ['grpc', 'http://collector:80', [false, 'collector', '80', '/'], 'http://collector:80'],
  ['grpc', 'https://api.example.com', [true, 'api.example.com', '443', '/'], 'https://api.example.com:443'],
  ['grpc', 'collector:4317', [true, 'collector', '4317', ''], 'collector:4317'],
  ['grpc', 'collector:4317', [false, 'collector', '4317', ''], 'collector:4317', true],
  ['grpc', 'dns:///collector:4317', [false, 'collector', '4317', ''], 'dns:///collector:4317', true],
  ['grpc', 'unix:///run/otlp.sock', [false, '', '', ''], 'unix:///run/otlp.sock'],
  ['grpc', 'http://[::1]:4317', [false, '[::1]', '4317', '/'], 'http://[::1]:4317'],
  [
    'http/protobuf',
    'http://collector:80/v1/metrics',
    [false, 'collector', '80', '/v1/metrics'],
    'http://collector:80/v1/metrics',
  ],
  [
    'http/json',
    'https://me:hunter2@collector/x?key=hunter2',
    [true, 'collector', '443', '/x'],
    'https://collector:443/x?***',
  ],
  ['grpc', 'dns://me:hunter2@collector:4317', [false, '', '', ''], 'dns://***@collector:4317'],
];

for (const [protocol, endpoint, to, shown, insecure = false] of CASES) {
  test(`${endpoint}${insecure ? ', insecure' : ''}, is shown as ${shown}`, () => {
    const found = backendAddress({ protocol, endpoint, insecure });
    assert.deepEqual([found.isTls, found.host, found.port, found.path], to);
    assert.equal(found.label, `${shown} (${protocol})`);
    assert.equal(found.protocol, protocol);
  });
}
