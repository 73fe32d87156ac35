/** Reads the text format of Prometheus, as the Collector serves it. It asks nobody for it. */
import type { Labels, Sample } from '../real/prometheus.ts';

const LINE = /^(\w+)\{(.*)\} (\S+)$/gmu;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/gu;

/** Samples with at least one label; the name is the label `__name__`. */
export function samplesIn(text: string): readonly Sample[] {
  return [...text.matchAll(LINE)].map(([, name = '', labels = '', value = '']) => ({
    labels: { __name__: name, ...labelsIn(labels) },
    value: Number(value),
  }));
}

function labelsIn(text: string): Labels {
  return Object.fromEntries([...text.matchAll(LABEL)].map(([, name = '', value = '']) => [name, value]));
}

/** Of those that have these labels. */
export function sumOf(samples: readonly Sample[], wanted: Labels): number {
  return samples.filter((sample) => has(sample, wanted)).reduce((sum, { value }) => sum + value, 0);
}

/** As in Prometheus, a label that is missing is empty. */
export function has({ labels }: Sample, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => (labels[name] ?? '') === value);
}
