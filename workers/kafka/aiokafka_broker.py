"""Runs the Kafka broker that waitbench has fetched: aiokafka_broker.py PORT FOLDER.

FOLDER/jars names the folder of what it runs on.
With the standard library only, as any Python may run it.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

port, folder = sys.argv[1:]
services = Path(os.environ["WAITBENCH_CACHE"]) / "services"
jars = sorted(path for path in services.glob("kafka-*-*") if path.is_dir())
if not jars:
    sys.exit("Kafka is not here yet. This fetches it: ./compare.sh v0.21.1 -s kafka-ended")
os.chdir(folder)
Path("jars").write_text(str(jars[-1]), "utf-8")
os.environ |= {"KAFKA_JARS": str(jars[-1]), "PORT": port, "PYTHONPATH": str(ROOT)}
os.execv(sys.executable, [sys.executable, "-m", "services.kafka.broker"])  # noqa: S606
