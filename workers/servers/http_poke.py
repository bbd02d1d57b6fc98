"""Asks a server for ``/`` and says how long the answer took, connecting included."""

import http.client
import sys
import time

begun = time.perf_counter()
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
connection.request("GET", "/")
answer = connection.getresponse()
answer.read()
assert answer.status == 200, answer.status
print(f"lateness {time.perf_counter() - begun:.9f}")
