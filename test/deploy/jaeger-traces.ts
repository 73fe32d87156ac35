/** Asks a Jaeger for traces, over the API of its page. */

/** The answer of `/api/traces`; `data` is null if nothing is found. */
interface Answer {
  readonly data?: readonly { readonly spans: readonly JaegerSpan[] }[] | null;
}

interface JaegerSpan {
  readonly spanID: string;
  readonly operationName: string;
  readonly references: readonly { readonly refType: string; readonly spanID: string }[];
  readonly tags: readonly { readonly key: string; readonly value: unknown }[];
}

export interface TraceSpan {
  readonly id: string;
  readonly name: string;
  /** The id of the parent. */
  readonly parent: string | undefined;
  readonly tags: Readonly<Record<string, unknown>>;
}

/** The spans of each trace that was found: none if there is no such trace, or no answer. */
export async function jaegerTraces(url: string): Promise<readonly (readonly TraceSpan[])[]> {
  const text = await fetch(url).then((response) => response.text(), String);
  if (!text.startsWith('{')) return [];
  const { data }: Answer = JSON.parse(text);
  return (data ?? []).map(({ spans }) =>
    spans.map(({ spanID, operationName, references, tags }) => ({
      id: spanID,
      name: operationName,
      parent: references.find(({ refType }) => refType === 'CHILD_OF')?.spanID,
      tags: Object.fromEntries(tags.map(({ key, value }) => [key, value])),
    })),
  );
}
