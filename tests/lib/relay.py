# SPDX-License-Identifier: BSD-2-Clause
"""relay.py TO PORT [SECONDS]: a way to the server at the local port TO, that can be stopped: listens on PORT, or on any if that
is 0, and writes the number into the file "port".  What the server sends takes SECONDS longer."""
import os
import socket
import sys
import threading
import time


def copy(a, b, delay):
    try:
        while data := a.recv(65536):
            time.sleep(delay)
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(2)
        except OSError:
            pass


listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
with open("port.new", "w") as file:
    file.write(str(listener.getsockname()[1]))
os.rename("port.new", "port")
while True:
    client = listener.accept()[0]
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    late = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    for way in ((client, server, 0), (server, client, late)):
        threading.Thread(target=copy, args=way, daemon=True).start()
