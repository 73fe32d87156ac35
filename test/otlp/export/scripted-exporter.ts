/** An exporter that answers as a test says, and sources that remember what became of what they had. */
import type { ExportRequest } from '../../../src/otlp/export/export-request.ts';
import type { ExportSource } from '../../../src/otlp/export/export-source.ts';
import type { Exporter, ExportResult } from '../../../src/otlp/send/exporter.ts';

export const SUCCESS: ExportResult = { kind: 'success' };
export const UNAVAILABLE: ExportResult = { kind: 'unavailable', reason: 'nobody is at home' };
export const REFUSED: ExportResult = { kind: 'refused', reason: 'not like that' };

/** Which request of which source, as `shop 0`, or a part of it, as `shop 0/1`. */
type Answer = (request: string) => ExportResult | Promise<ExportResult>;

export class ScriptedExporter implements Pick<Exporter<string>, 'export'> {
  readonly #answer: Answer;
  /** In the order in which they came. */
  readonly sent: string[] = [];
  underWay = 0;
  mostAtOnce = 0;

  constructor(answer: Answer = () => SUCCESS) {
    this.#answer = answer;
  }

  async export(request: string): Promise<ExportResult> {
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

export class FakeSource implements ExportSource<string> {
  readonly name: string;
  readonly #items: readonly number[];
  /** How often it was asked what there is. */
  collections = 0;
  /** Its history: `built 0`, `exported 0` of its requests, `built 0/1` of a part of one. */
  readonly reported: string[] = [];
  #exportedPoints = 0;

  /** @param items of each of its requests */
  constructor(name: string, items: readonly number[] = [1]) {
    this.name = name;
    this.#items = items;
  }

  async collect(): Promise<readonly ExportRequest<string>[]> {
    this.collections += 1;
    return this.#items.map((items, index) => this.#request(String(index), items));
  }

  /** Whether everything has arrived. */
  isFixed(): boolean {
    return this.#exportedPoints === this.#items.reduce((sum, items) => sum + items, 0);
  }

  #request(label: string, items: number): ExportRequest<string> {
    const part = (index: number, itemsMax: number): ExportRequest<string> =>
      this.#request(`${label}/${index}`, Math.min(itemsMax, items - index * itemsMax));
    const request: ExportRequest<string> = {
      items,
      data: () => {
        this.reported.push(`built ${label}`);
        return `${this.name} ${label}`;
      },
      acknowledge: () => {
        this.reported.push(`exported ${label}`);
        this.#exportedPoints += items;
      },
      parts: (itemsMax) =>
        items <= itemsMax
          ? [request]
          : Array.from({ length: Math.ceil(items / itemsMax) }, (_, index) => part(index, itemsMax)),
    };
    return request;
  }
}

/** Cannot be collected. */
export class BrokenSource implements ExportSource<string> {
  readonly name = 'broken';
  readonly error = new Error('it cannot be collected');

  async collect(): Promise<readonly ExportRequest<string>[]> {
    throw this.error;
  }
}
