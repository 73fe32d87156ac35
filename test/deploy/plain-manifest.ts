/** Makes `deploy/kubernetes.yaml` of what Helm renders: without Helm’s own marks, for any namespace. It runs no program. */

const HEAD = `# celery-otel for one Celery service, without Helm: what the chart in deploy/helm renders with its default values.
#
#     kubectl create secret generic celery-broker --from-literal=url=amqp://USER:PASSWORD@HOST:5672//
#     kubectl apply --filename kubernetes.yaml
#
# Set OTEL_SERVICE_NAME, OTEL_EXPORTER_OTLP_ENDPOINT and the image before.
`;

/** That of Helm and the namespace, which \`kubectl\` chooses; and the names of the templates. */
const MARKS = /^(?: +(?:helm\.sh\/chart|app\.kubernetes\.io\/managed-by|namespace): .*|# Source: .*)\n/gmu;

/** @param rendered the output of `helm template` */
export function plainManifest(rendered: string): string {
  const objects = rendered.replaceAll(MARKS, '').trim();
  return `${HEAD}${objects.replaceAll(/\n+---\n/gu, '\n---\n')}\n`;
}
