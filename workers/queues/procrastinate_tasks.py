"""A job, and the app that the worker takes it from."""

import os

import procrastinate

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["DSN"]))


@app.task
def work() -> None:
    print("did it", flush=True)
