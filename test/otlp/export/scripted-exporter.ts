/** An exporter with scripted responses, and sources that record what happened to their requests. */
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ExportRequest } from '../../../src/otlp/export/export-request.ts';
import type { ExportSource } from '../../../src/otlp/export/export-source.ts';
import type { Exporter, ExportResult } from '../../../src/otlp/send/exporter.ts';

export const SUCCESS: ExportResult = { kind: 'success' };
export const UNAVAILABLE: ExportResult = { kind: 'unavailable', reason: 'nobody is at home' };
export const REFUSED: ExportResult = { kind: 'refused', reason: 'not like that' };

/** Which request of which source, as `shop 0`, or a part of it, as `shop 0/1`. */
type Answer = (request: string) => ExportResult | Promise<ExportResult>;

export class ScriptedExporter implements Pick<Exporter<ResourceMetrics>, 'export'> {
  readonly #answer: Answer;
  /** In the order in which they came. */
  readonly sent: string[] = [];
  underWay = 0;
  mostAtOnce = 0;

  constructor(answer: Answer = () => SUCCESS) {
    this.#answer = answer;
  }

  async export(metrics: ResourceMetrics): Promise<ExportResult> {
    const request = String(metrics.resource.attributes['request']);
    this.sent.push(request);
    this.underWay += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.underWay);
    try {
      return await this.#answer(request);
    } finally {
      this.underWay -= 1;
    }
  }
}

export class FakeSource implements ExportSource {
  readonly name: string;
  readonly #points: readonly number[];
  /** How often it was asked what there is. */
  collections = 0;
  /** Its history: `built 0`, `exported 0` of its requests, `built 0/1` of a part of one. */
  readonly told: string[] = [];
  #exportedPoints = 0;

  /** @param points of each of its requests */
  constructor(name: string, points: readonly number[] = [1]) {
    this.name = name;
    this.#points = points;
  }

  async collect(): Promise<readonly ExportRequest[]> {
    this.collections += 1;
    return this.#points.map((points, index) => this.#request(String(index), points));
  }

  /** Whether everything has arrived. */
  isExported(): boolean {
    return this.#exportedPoints === this.#points.reduce((sum, points) => sum + points, 0);
  }

  #request(label: string, points: number): ExportRequest {
    const part = (index: number, pointsMax: number): ExportRequest =>
      this.#request(`${label}/${index}`, Math.min(pointsMax, points - index * pointsMax));
    const request: ExportRequest = {
      points,
      metrics: () => {
        this.told.push(`built ${label}`);
        return {
          resource: resourceFromAttributes({ request: `${this.name} ${label}` }),
          scopeMetrics: [],
        };
      },
      exported: () => {
        this.told.push(`exported ${label}`);
        this.#exportedPoints += points;
      },
      parts: (pointsMax) =>
        points <= pointsMax
          ? [request]
          : Array.from({ length: Math.ceil(points / pointsMax) }, (_, index) => part(index, pointsMax)),
    };
    return request;
  }
}

/** Cannot be collected. */
export class BrokenSource implements ExportSource {
  readonly name = 'broken';
  readonly error = new Error('it cannot be collected');

  async collect(): Promise<readonly ExportRequest[]> {
    throw this.error;
  }
}
