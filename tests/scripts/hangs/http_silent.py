"""A tool call over HTTP to a server that accepts and never answers."""

import http.server
import multiprocessing
import time
import urllib.request


class Silent(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(1000)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    multiprocessing.Process(target=server.serve_forever, name="sandbox", daemon=True).start()
    urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/run").read()


if __name__ == "__main__":
    main()
