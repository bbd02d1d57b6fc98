"""What a worker of Celery is asked to do: nothing."""

import os

from celery import Celery

app = Celery("celery_tasks", broker=os.environ["BROKER"])


@app.task
def nothing() -> None:
    """Does nothing."""
