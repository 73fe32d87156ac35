"""The web server of the shop: each request sends tasks, which are in the trace of the request."""

import os

import tracing
from celery import chain
from flask import Flask
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from shop import charge, pack, print_catalogue, ship

web = Flask("traced-shop")


@web.post("/orders/<item>")
def order(item):
    chain(charge.s(item), pack.s(), ship.s()).apply_async()
    return "ordered\n"


@web.post("/catalogue")
def catalogue():
    print_catalogue.delay()
    return "printing\n"


if __name__ == "__main__":
    tracing.begin("traced-shop-web")
    FlaskInstrumentor().instrument_app(web)
    web.run(port=int(os.environ.get("PORT", "8000")))
