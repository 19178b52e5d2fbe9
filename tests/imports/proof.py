"""Proves what imports and exports promise, against a running host and with nothing of its code.

Python's csv and json make two files of products, of which one line in a hundred is wrong in one of ten ways. Then

- a dry run and the run report the same, and the same file again changes nothing;
- an export that is imported into an empty store is exported from there as it was;
- a host that is killed at random moments of an import ends, after the file was sent again, with the same store;
- a loop that sells an article during an import loses nothing of its stock;
- an export with the feed of changes from its cursor is a copy of a store that is written to;
- two imports of the same new records at once end, with each record once;
- a line without an end, a file that expands without one, invalid UTF-8 and NUL are clear errors, for which the host needs
  little memory.

    proof.py --program FILE --plugin FILE --records 100000 --kills 5 --megabytes 2048 DATABASE DATABASE DATABASE

The databases are three addresses for the host, of databases that are empty; those of SQLite are in three folders.
"""

import argparse
import csv
import http.client
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from urllib.parse import quote, urlsplit

ROOT = "/api/index.php/v1/shop"
JSON_API = "application/vnd.api+json"
NDJSON = "application/x-ndjson"
CSV = "text/csv"

FIELDS = ["sku", "product_name", "price", "quantity", "enabled", "category.path",
          "manufacturer.manufacturer_name", "upc"]

# How much more memory a host may take for a file.
MEMORY = 64 * 1024 * 1024

# What is wrong with a line: a member, and a value that it must not have.
FAULTS = [
    ("price", "1,5"),
    ("price", "1.2345678"),
    ("product_name", "x" * 300),
    ("product_name", "a\u0000b"),
    ("quantity", "1.5"),
    ("quantity", "many"),
    ("enabled", "perhaps"),
    ("category.path", "no/such/category"),
    ("manufacturer.manufacturer_name", "Nobody"),
    ("sku", ""),
]

# What a store makes for itself, so that another one has it otherwise.
OWN = {"shop_product_id", "created_on", "modified_on"}


def check(holds, what, seen=""):
    if not holds:
        raise SystemExit(f"FAILED: {what} {seen}")


class Host:
    """A host on a database, which can be killed and started again."""

    def __init__(self, program, plugin, database):
        self.folder = tempfile.TemporaryDirectory()
        self.words = [program, "--database", database, "--plugin", plugin]
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("HOST_") and name != "DATABASE_URL"}
        self.environment["HOST_LOG"] = "info,access=off"
        self.start()
        self.run("user", "add", "proof", "--email", "proof@example.com", "--group", "Super Users")
        self.token = self.run("token", "generate", "proof").split()[-1]

    def run(self, *words):
        done = subprocess.run(self.words + list(words), cwd=self.folder.name, check=True,
                              env=self.environment, capture_output=True, text=True)
        return done.stdout

    def start(self):
        self.process = subprocess.Popen(
            self.words + ["serve", "--listen", "127.0.0.1:0"], cwd=self.folder.name,
            env=self.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        log = []
        for line in self.process.stderr:
            log.append(line)
            found = re.search(r"http://([0-9.]+:\d+)", line)
            if found:
                self.address = found.group(1)
                # The rest of the log is read and dropped, so that the host never waits for a reader.
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        raise SystemExit(f"FAILED: the host does not start: {''.join(log)}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, method, path, body=None, media_type=JSON_API, accept=JSON_API, headers=None):
        """Returns the status, the headers and the body of the answer."""
        connection = http.client.HTTPConnection(self.address, timeout=600)
        sent = {"Authorization": f"Bearer {self.token}", "Accept": accept, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = media_type
        path = path if path.startswith("/api") else ROOT + path
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, text

    def must(self, status, *request, **options):
        seen, headers, text = self.ask(*request, **options)
        check(seen == status, f"{request[0]} {request[1]} is {status}", f"{seen} {text[:500]}")
        return headers, text

    def create(self, path, attributes):
        _, text = self.must(201, "POST", path, json.dumps(attributes), media_type="application/json")
        return json.loads(text)["data"]["id"]

    def report(self, file, query, headers=None):
        """Imports a file, and returns the lines of the report and the summary."""
        media_type, body = file
        _, text = self.must(200, "POST", f"/imports?{query}", body, media_type=media_type,
                            accept=NDJSON, headers=headers)
        lines = [json.loads(line) for line in text.splitlines() if line]
        summary = lines.pop()["summary"]
        counts = [summary[name] for name in ("created", "updated", "unchanged", "failed")]
        check(summary["read"] == sum(counts), "the counts of a summary add up", summary)
        return lines, summary

    def export(self, kind, query=""):
        """Returns the cursor and the records."""
        headers, text = self.must(200, "GET", f"/exports/{kind}?{query}", accept=NDJSON)
        lines = text.splitlines()
        return headers["Export-Cursor"], [json.loads(line) for line in lines[1:]]

    def content(self):
        """The products without what each store makes for itself, by their SKUs."""
        _, records = self.export("products", "columns=names")
        kept = {record["sku"]: {name: value for name, value in record.items() if name not in OWN}
                for record in records}
        check(len(kept) == len(records), "each product is there once")
        return kept

    def prepare(self):
        for number in range(20):
            self.create("/manufacturers", {"manufacturer_name": f"Manufacturer {number}"})
            self.create("/categories", {"title": f"Category {number}", "alias": f"category-{number}"})


def products(count, salt):
    """Makes records, and the numbers of those that are wrong."""
    chance = random.Random(salt)
    wrong = set(chance.sample(range(count), max(count // 100, len(FAULTS))))
    for number in range(count):
        record = {
            "sku": f"{salt}-{number}",
            "product_name": chance.choice(["Lamp", "Mö\u00adbel, gross", 'Desk "2"', "two\nlines", "日本"])
            + f" {number}",
            "price": f"{chance.randrange(100_000)}.{chance.randrange(100):02}",
            "quantity": str(chance.randrange(100)),
            "enabled": chance.choice(["0", "1"]),
            "category.path": f"category-{chance.randrange(20)}",
            "manufacturer.manufacturer_name": f"Manufacturer {chance.randrange(20)}",
            "upc": "" if chance.random() < 0.5 else f"0{chance.randrange(10**11)}",
        }
        yield number in wrong, record


def make(count, salt):
    """The records as CSV and as lines of JSON, half and half, with the number of wrong ones."""
    rows, text, lines, failed = io.StringIO(newline=""), None, [], 0
    writer = csv.DictWriter(rows, FIELDS)
    writer.writeheader()
    for number, (is_wrong, record) in enumerate(products(count, salt)):
        if is_wrong:
            name, value = FAULTS[failed % len(FAULTS)]
            record[name] = value
            failed += 1
        if number % 2:
            writer.writerow(record)
        else:
            lines.append(json.dumps({name: value for name, value in record.items() if value}))
    text = rows.getvalue().encode()
    return [(CSV, text), (NDJSON, "\n".join(lines).encode())], failed


def outcome(line):
    """What a dry run and the run have in common."""
    return line["line"], line["key"], line["result"], json.dumps(line.get("errors"))


def dry_run_and_run(host, files, failed):
    seen = 0
    for file in files:
        started = time.monotonic()
        dry, dry_summary = host.report(file, "type=products&dry_run=1")
        check(host.ask("GET", "/products?page[limit]=1")[0] == 200, "the store answers")
        run, summary = host.report(file, "type=products")
        check([outcome(line) for line in dry] == [outcome(line) for line in run],
              "a dry run reports what the run reports",
              next(((one, other) for one, other in zip(dry, run) if outcome(one) != outcome(other)), ""))
        for name in ("read", "created", "updated", "unchanged", "failed"):
            check(dry_summary[name] == summary[name], f"{name} is the same", (dry_summary, summary))
        check(summary["created"] > 0 and summary["updated"] == 0, "all is new", summary)
        for line in run:
            check(line["result"] != "failed" or line["errors"][0]["detail"], "a fault has a reason", line)
        seen += summary["failed"]
        took = time.monotonic() - started
        print(f"  {summary['read']} lines of {file[0]}: dry run and run in {took:.1f} s")
    check(seen == failed, f"{failed} lines are wrong", seen)


def again(host, files):
    cursor, before = host.export("products")
    for file in files:
        _, summary = host.report(file, "type=products&report=faults")
        check(summary["created"] == summary["updated"] == 0, "the file again changes nothing", summary)
        check(summary["unchanged"] > 0, "the records are found", summary)
    _, text = host.must(200, "GET", f"/changes?filter[types]=products&page[after]={quote(cursor)}")
    check(json.loads(text)["data"] == [], "nothing is in the feed of changes", text[:500])
    check(host.export("products")[1] == before, "no record has changed")


def move(old, new):
    for kind in ("manufacturers", "categories", "products"):
        order = "&sort=level" if kind == "categories" else ""
        _, text = old.must(200, "GET", f"/exports/{kind}?columns=names{order}", accept=NDJSON)
        _, summary = new.report((NDJSON, text), f"type={kind}&mode=create&report=faults")
        check(summary["failed"] == 0, f"all {kind} move", summary)
    check(old.content() == new.content(), "the other store exports the same")


def killed(host, files, expected, kills):
    host.prepare()
    for file in files:
        media_type, body = file
        key = {"Idempotency-Key": f"night-{len(body)}"}
        for _ in range(kills):
            def send():
                try:
                    host.ask("POST", "/imports?type=products", body, media_type=media_type,
                             accept=NDJSON, headers=key)
                except (OSError, http.client.HTTPException):
                    pass
            sending = threading.Thread(target=send)
            sending.start()
            sending.join(random.uniform(0.05, max(0.5, len(body) / 500_000)))
            host.kill()
            sending.join()
            host.start()
        _, text = host.must(200, "POST", "/imports?type=products", body, media_type=media_type,
                            accept=NDJSON, headers=key)
        check(b'"summary"' in text, "the import ends", text[-500:])
    check(host.content() == expected, "the store is that of an import without a kill")


def sold_and_copied(host, count):
    """Sells an article and follows the feed while prices are imported."""
    sku = "STOCK"
    article = host.create("/products", {"product_name": "Stock", "sku": sku, "price": "1", "quantity": 100_000})
    rows = io.StringIO(newline="")
    writer = csv.writer(rows)
    writer.writerow(["sku", "price"])
    known = sorted(host.content())
    chance = random.Random(1)
    for other in known[:count] + [sku]:
        writer.writerow([other, f"{chance.randrange(1000)}.5"])
    file = (CSV, rows.getvalue().encode())
    sold, ended, slowest = [0], threading.Event(), [0.0]

    def sell():
        while not ended.is_set():
            started = time.monotonic()
            order = {"user_email": "buyer@example.com",
                     "items": [{"product_id": int(article), "orderitem_quantity": 1, "take_stock": 1}]}
            status, _, text = host.ask("POST", "/orders", json.dumps(order), media_type="application/json")
            slowest[0] = max(slowest[0], time.monotonic() - started)
            check(status == 201, "an order is taken during an import", f"{status} {text[:500]}")
            sold[0] += 1

    summaries = []
    importing = threading.Thread(
        target=lambda: summaries.append(host.report(file, "type=products&report=faults")[1]))
    selling = threading.Thread(target=sell)
    selling.start()
    importing.start()
    # While both are going on.
    time.sleep(0.1)
    cursor, records = host.export("products")
    copy = {record["shop_product_id"]: record for record in records}
    importing.join()
    ended.set()
    selling.join()
    summary = summaries[0]
    check(summary["failed"] == 0, "all prices are imported", summary)
    _, text = host.must(200, "GET", f"/products/{article}")
    left = json.loads(text)["data"]["attributes"]["quantity"]
    check(sold[0] > 0 and left == 100_000 - sold[0], f"{sold[0]} of 100000 are sold", left)

    path = f"/changes?filter[types]=products&page[size]=1000&page[after]={quote(cursor)}"
    while True:
        page = json.loads(host.must(200, "GET", path)[1])
        for record in page["data"]:
            key = int(record["id"])
            if record["meta"].get("deleted"):
                copy.pop(key, None)
            else:
                copy.setdefault(key, {}).update(record["attributes"])
        if not page["data"]:
            break
        parts = urlsplit(page["links"]["next"])
        path = f"{parts.path}?{parts.query}"
    _, records = host.export("products")
    shown = set(copy[int(article)]) & set(records[0])
    one = {key: {name: record.get(name) for name in shown} for key, record in copy.items()}
    other = {record["shop_product_id"]: {name: record[name] for name in shown} for record in records}
    check(one == other, "the export and the feed are a copy",
          next(((one.get(key), other.get(key)) for key in one.keys() | other.keys()
                if one.get(key) != other.get(key)), ""))
    print(f"  {sold[0]} sold meanwhile, the slowest in {slowest[0]:.2f} s")


def at_once(host, count):
    files, failed = make(count, "TWICE")
    for file in files:
        summaries, faults = [], []

        def send():
            try:
                summaries.append(host.report(file, "type=products&report=faults")[1])
            except SystemExit as fault:
                faults.append(fault)

        both = [threading.Thread(target=send) for _ in range(2)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        check(len(summaries) == 2, "two imports at once end", faults)
        good = summaries[0]["read"] - summaries[0]["failed"]
        check(sum(summary["created"] for summary in summaries) == good, "each record is created once", summaries)
    skus = [sku for sku in host.content() if sku.startswith("TWICE-")]
    check(len(skus) == count - failed, "each record is there once", len(skus))


def endures(host, megabytes):
    """Sends what no table is, and looks at the answers and at the memory of the host."""
    head, block = b"sku,product_name\nE-1,Before\n", bytes([65]) * 2**20

    def endless(beginning):
        yield beginning
        for _ in range(megabytes):
            yield block

    def bomb():
        packer = zlib.compressobj(9, wbits=31)
        yield packer.compress(head) + packer.flush(zlib.Z_SYNC_FLUSH)
        for _ in range(2 * megabytes):
            yield packer.compress(block)
        yield packer.flush()

    too_long = ["is longer than", "body_too_large", "the body is too large"]
    for name, media_type, pieces, encoding, expected in [
        ("a header", CSV, endless(b""), "identity", ["Line 1: the header is longer than"]),
        ("a line", CSV, endless(head), "identity", too_long),
        ("a quote", CSV, endless(head + b'E-2,"'), "identity", too_long),
        ("a line of JSON", NDJSON, endless(b'{"sku": "'), "identity", too_long),
        ("a gzip bomb", CSV, bomb(), "gzip", too_long),
        ("invalid UTF-8", CSV, iter([head + b"E-3,\xff\n"]), "identity", ["Line 3", "is not UTF-8"]),
        ("NUL", CSV, iter([head + b"E-4,a\0b\n"]), "identity", ["must not contain a NUL character"]),
    ]:
        before = memory(host, "VmRSS")
        text = sent_in_pieces(host, media_type, pieces, encoding)
        check(any(one in text for one in expected), f"{name} that is wrong is a clear error", text[-500:])
        grown = memory(host, "VmHWM") - before
        check(grown <= MEMORY, f"{name} takes little memory", grown)
    _, records = host.export("products", "filter[sku_exact]=E-1")
    check(len(records) == 1, "the lines before are there")


def sent_in_pieces(host, media_type, pieces, encoding):
    """Sends a file until the host answers, and returns the answer."""
    connection = http.client.HTTPConnection(host.address, timeout=600)
    connection.putrequest("POST", f"{ROOT}/imports?type=products")
    for name, value in [("Authorization", f"Bearer {host.token}"), ("Accept", NDJSON), ("Content-Type", media_type),
                        ("Content-Encoding", encoding), ("Transfer-Encoding", "chunked")]:
        connection.putheader(name, value)
    connection.endheaders()
    try:
        for piece in filter(None, pieces):
            connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        connection.send(b"0\r\n\r\n")
    except (BrokenPipeError, ConnectionResetError):
        pass
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def memory(host, name):
    """How many bytes a host takes now (VmRSS), or has taken at most since it was last asked for that."""
    folder = f"/proc/{host.process.pid}"
    if not os.path.exists(f"{folder}/clear_refs"):
        return 0
    with open(f"{folder}/status") as status:
        found = re.search(rf"{name}:\s+(\d+) kB", status.read())
    with open(f"{folder}/clear_refs", "w") as clear:
        clear.write("5")
    return int(found.group(1)) * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("databases", nargs=3)
    given = parser.parse_args()
    hosts = []
    try:
        for database in given.databases:
            hosts.append(Host(given.program, given.plugin, database))
        first, second, third = hosts
        first.prepare()
        files, failed = make(given.records, "P")
        steps = [
            ("a dry run and the run", lambda: dry_run_and_run(first, files, failed)),
            ("the same file again", lambda: again(first, files)),
            ("an export into an empty store", lambda: move(first, second)),
            (f"{given.kills} kills", lambda: killed(third, files, first.content(), given.kills)),
            ("sales and a copy meanwhile", lambda: sold_and_copied(first, given.records)),
            ("two at once", lambda: at_once(first, max(given.records // 10, 1000))),
            ("what is no table", lambda: endures(second, given.megabytes)),
        ]
        for name, step in steps:
            started = time.monotonic()
            step()
            print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    finally:
        for host in hosts:
            host.stop()
    print("Everything holds.")


sys.exit(main())
