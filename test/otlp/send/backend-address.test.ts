import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExporterSettings } from '../../../src/otlp/otlp-settings.ts';
import { backendAddress } from '../../../src/otlp/send/backend-address.ts';

interface Case {
  readonly protocol: ExporterSettings['protocol'];
  readonly endpoint: string;
  readonly insecure?: boolean;
  readonly to: readonly [isTls: boolean, host: string, port: string, path: string];
  readonly label: string;
}

const CASES: readonly Case[] = [
  {
    ...{ protocol: 'grpc', endpoint: 'http://collector:4317', to: [false, 'collector', '4317', '/'] },
    label: 'http://collector:4317 (grpc)',
  },
  {
    ...{ protocol: 'grpc', endpoint: 'http://collector:80', to: [false, 'collector', '80', '/'] },
    label: 'http://collector:80 (grpc)',
  },
  {
    ...{ protocol: 'grpc', endpoint: 'https://api.example.com', to: [true, 'api.example.com', '443', '/'] },
    label: 'https://api.example.com:443 (grpc)',
  },
  {
    ...{ protocol: 'grpc', endpoint: 'collector:4317', to: [true, 'collector', '4317', ''] },
    label: 'collector:4317 (grpc)',
  },
  {
    ...{ protocol: 'grpc', endpoint: 'collector:4317', insecure: true, to: [false, 'collector', '4317', ''] },
    label: 'collector:4317 (grpc)',
  },
  {
    ...{ protocol: 'grpc', endpoint: 'dns:///collector:4317', insecure: true },
    ...{ to: [false, 'collector', '4317', ''], label: 'dns:///collector:4317 (grpc)' },
  },
  {
    ...{ protocol: 'grpc', endpoint: 'unix:///run/otlp.sock', to: [false, '', '', ''] },
    label: 'unix:///run/otlp.sock (grpc)',
  },
  {
    ...{ protocol: 'grpc', endpoint: 'http://[::1]:4317', to: [false, '[::1]', '4317', '/'] },
    label: 'http://[::1]:4317 (grpc)',
  },
  {
    ...{ protocol: 'http/protobuf', endpoint: 'http://collector:80/v1/metrics' },
    ...{ to: [false, 'collector', '80', '/v1/metrics'] },
    label: 'http://collector:80/v1/metrics (http/protobuf)',
  },
  {
    ...{ protocol: 'http/json', endpoint: 'https://me:hunter2@collector/x?key=hunter2' },
    ...{ to: [true, 'collector', '443', '/x'] },
    label: 'https://collector:443/x?*** (http/json)',
  },
  {
    ...{ protocol: 'grpc', endpoint: 'dns://me:hunter2@collector:4317', to: [false, '', '', ''] },
    label: 'dns://***@collector:4317 (grpc)',
  },
];

for (const { protocol, endpoint, insecure = false, to, label } of CASES) {
  test(`${endpoint}${insecure ? ', insecure' : ''}, is shown as ${label}`, () => {
    const found = backendAddress({ protocol, endpoint, insecure });
    assert.deepEqual([found.isTls, found.host, found.port, found.path], to);
    assert.equal(found.label, label);
    assert.equal(found.protocol, protocol);
  });
}
