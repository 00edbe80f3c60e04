# SPDX-License-Identifier: BSD-2-Clause
"""relay.py TO PORT: a way to the server at the local port TO, that can be stopped: listens on PORT, or on any if that is 0, and
writes the number into the file "port"."""
import os
import socket
import sys
import threading


def copy(a, b):
    try:
        while data := a.recv(65536):
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
    for pair in ((client, server), (server, client)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
