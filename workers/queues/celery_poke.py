"""Gives a worker of Celery one task."""

from celery_tasks import app, nothing

with app.connection_for_write() as connection:
    connection.ensure_connection()
    print("sent", flush=True)
    nothing.apply_async(connection=connection)
