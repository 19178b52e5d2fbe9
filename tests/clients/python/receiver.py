"""A receiver of webhooks behind TLS. Two libraries check each message, and one that both accept is kept as a line."""

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import standardwebhooks
import svix.webhooks


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return  # Its sender has broken it off.
        headers, secret = dict(self.headers), Path("secret").read_text()
        try:
            standardwebhooks.Webhook(secret).verify(body, headers)
            svix.webhooks.Webhook(secret).verify(body, headers)
            keep("accepted", json.dumps({"headers": headers, "body": body.decode()}))
            self.send_response(204)
        except Exception as refusal:
            keep("refused", repr(refusal))
            self.send_response(400)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def keep(name, line):
    """Adds a line in one step, so that those of several threads do not mix."""
    with open(name, "ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain("cert.pem", "key.pem")
# Each connection is negotiated in its own thread.
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_port, flush=True)
server.serve_forever()
