# SPDX-License-Identifier: BSD-2-Clause
"""
A proxy between a client and the database server, one a client, which knows where a COMMIT is in the bytes that pass.
Armed, it does to the next packet with a COMMIT:

	drop       cuts both sides; the server never sees it
	noreply    forwards it and cuts the client; the server does it, but nobody hears so
	ghost      cuts the client at once, and forwards the packet seconds later: the commit comes when it was given up
	orphan     as ghost, but nobody is there any more to hear the server's answers, either: its writes fail
	half       forwards half of it and cuts both sides
	stall      holds it back for seconds, and then goes on as if nothing had been

One thread runs all of them.
"""
import asyncio
import errno
import threading

COM_QUERY = 3


def commits(data):
	"""Whether the packet has a COMMIT: as text, or in a block that was prepared before."""
	return data[4] == COM_QUERY and (b"EXECUTE js_commit" in data or b"COMMIT" in data and b"PREPARE js_" not in data)


class Proxy:
	"""One listening port.  ARMED is (mode, seconds, on_hit) or None."""

	def __init__(self, host, port, server):
		self.host, self.port, self.server, self.armed = host, port, server, None
		self.listener = None

	def arm(self, mode, seconds, on_hit):
		self.armed = (mode, seconds, on_hit)

	def disarm(self):
		self.armed = None

	async def packet(self, reader):
		"""One packet of the protocol, whole; long ones come in several, of which only the first may be a query."""
		head = await reader.readexactly(4)
		return head + await reader.readexactly(int.from_bytes(head[:3], "little"))

	async def answers(self, reader, writer):
		"""What the server says goes to the client as it comes."""
		try:
			while True:
				data = await reader.read(65536)
				if not data:
					break
				if writer is not None and not writer.is_closing():
					writer.write(data)
					await writer.drain()
		except (OSError, asyncio.IncompleteReadError):
			pass
		finally:
			if writer is not None:
				writer.close()

	async def strike(self, data, to_server, client):
		"""Whether the connection goes on."""
		mode, seconds, on_hit = self.armed
		self.armed = None
		on_hit()
		if mode == "stall":
			await asyncio.sleep(seconds)
			to_server.write(data)
			await to_server.drain()
			return True
		if mode in ("drop", "half", "ghost", "orphan"):
			client.transport.abort()
		if mode == "half":
			to_server.write(data[:len(data) // 2])
		elif mode in ("ghost", "orphan"):
			await asyncio.sleep(seconds)
			to_server.write(data)
		elif mode == "noreply":
			client.transport.abort()
			to_server.write(data)
		if mode in ("noreply", "ghost"):
			await to_server.drain()
			await asyncio.sleep(2)  # for the server to do it: a connection that is gone would be rolled back
		return False

	async def serve(self, from_client, client):
		"""One client's connection, from its beginning to its end."""
		to_server = answers = None
		try:
			from_server, to_server = await asyncio.open_connection(*self.server)
			answers = asyncio.ensure_future(self.answers(from_server, client))
			while True:
				data = await self.packet(from_client)
				if self.armed and len(data) > 4 and commits(data):
					if not await self.strike(data, to_server, client):
						break
					continue
				to_server.write(data)
				await to_server.drain()
		except (OSError, asyncio.IncompleteReadError):
			pass
		finally:
			client.close()
			if to_server is not None:
				to_server.close()
			if answers is not None:
				answers.cancel()


class Proxies:
	"""The thread, and all the ports."""

	def __init__(self, host, servers):
		self.host, self.servers, self.port = host, servers, 20000
		self.loop = asyncio.new_event_loop()
		threading.Thread(target=self.loop.run_forever, daemon=True).start()

	def open(self):
		"""On the next port that is free: the labs have some, too."""
		async def listen(proxy):
			proxy.listener = await asyncio.start_server(proxy.serve, self.host, proxy.port)

		while True:
			self.port = 20000 + (self.port - 20000 + 1) % 9000
			proxy = Proxy(self.host, self.port, self.servers[self.port % len(self.servers)])
			try:
				asyncio.run_coroutine_threadsafe(listen(proxy), self.loop).result(10)
				return proxy
			except OSError as error:
				if error.errno != errno.EADDRINUSE:
					raise

	def close(self, proxy):
		self.loop.call_soon_threadsafe(proxy.listener.close)
