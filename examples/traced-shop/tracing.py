"""
OpenTelemetry for the web server and for the workers, as without celery-otel; and what joins the traces of celery-otel to
theirs: a Celery class for those who send tasks, and a signal handler for the workers.
"""

from celery import Celery
from celery.signals import task_prerun, worker_process_init
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def begin(service):
    """The exporter reads OTEL_EXPORTER_OTLP_ENDPOINT, by default http://localhost:4318."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    CeleryInstrumentor().instrument()


def traceparent(span=None):
    """Of this span, or the current one; None without one."""
    c = (span or trace.get_current_span()).get_span_context()
    return f"00-{c.trace_id:032x}-{c.span_id:016x}-{c.trace_flags:02x}" if c.is_valid else None


class JoinedCelery(Celery):
    """Who sends a task from a span passes it as the root of all that follows: celery-otel sees that, and joins the trace."""

    def send_task(self, name, *args, root_id=None, **options):
        if root_id is None and not self.current_worker_task:
            root_id = traceparent()
        return super().send_task(name, *args, root_id=root_id, **options)


@worker_process_init.connect(weak=False)
def begin_worker(**_):
    begin("traced-shop-worker")
    # After the instrumentation, whose handler of the same signal makes the span.
    task_prerun.connect(tell_span, weak=False)


def tell_span(task, **_):
    """Reports the span in which the worker runs the task, and its parent, for the case that the span dies with its process."""
    span = trace.get_current_span()
    if current := traceparent(span):
        parent = getattr(span, "parent", None)
        parent_span_id = f"{parent.span_id:016x}" if parent else None
        task.send_event("task-traced", traceparent=current, parent_span_id=parent_span_id, retries=task.request.retries)
